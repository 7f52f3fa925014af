#include "system/whole_io.h"

#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include "support.h"

namespace kiln::test {
namespace {

TEST(WholeIo, AFileOfAnySizeIsReadWhole) {
  const TemporaryFolder scratch;
  const auto file = scratch.path() / "file";
  for (const std::size_t size : {0U, 1U, 65'535U, 65'536U, 65'537U, 65'538U, 200'000U}) {
    const std::string text(size, 'x');
    write_file(file, text);
    EXPECT_EQ(system::read_file(file.c_str()), text) << size;
  }
  EXPECT_GT(system::read_file("/proc/self/maps").value_or("").size(), 100U);
}

// It may open and fail then, as on a disk that fails.
TEST(WholeIo, AFileThatCannotBeReadIsNone) {
  EXPECT_EQ(system::read_file("/nowhere"), std::nullopt);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(system::read_file("/"), std::nullopt);
  EXPECT_EQ(errno, EISDIR);
  EXPECT_EQ(system::read_file("/proc/self/mem"), std::nullopt);
  EXPECT_EQ(errno, EIO);
}

}  // namespace
}  // namespace kiln::test
