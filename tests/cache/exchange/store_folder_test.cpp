#include "exchange/store_folder.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support.h"

namespace {
std::atomic<bool> renaming_always_replaces = false;
}  // namespace

// In the place of the C library's: NFS knows no flags of it.
extern "C" int renameat2(int old_folder, const char* old_name, int new_folder, const char* new_name,
                         unsigned flags) noexcept {
  if (flags != 0 && renaming_always_replaces) {
    errno = EINVAL;
    return -1;
  }
  return static_cast<int>(
      ::syscall(SYS_renameat2, old_folder, old_name, new_folder, new_name, flags));
}

namespace kiln::storage {
namespace {

namespace fs = std::filesystem;

constexpr int names = 40;
constexpr int makers = 4;

class StoreFolders : public testing::TestWithParam<bool> {
 protected:
  StoreFolders() { renaming_always_replaces = GetParam(); }
  ~StoreFolders() override { renaming_always_replaces = false; }

  /// Several make the same folders at one time, and each puts something of its own into the one that it got.
  void make_together() const {
    std::vector<std::jthread> threads;
    for (int maker = 0; maker < makers; ++maker) {
      threads.emplace_back([this, maker] {
        const auto parent = StoreFolder::open(scratch_.path()).value().value();
        for (int number = 0; number < names; ++number) {
          const auto made = parent.make_folder(std::to_string(number));
          ASSERT_TRUE(made) << made.error().message;
          ASSERT_TRUE(made->write(std::to_string(maker), "x", {.of_anybody = true}));
        }
      });
    }
  }

  const kiln::test::TemporaryFolder scratch_;
};

INSTANTIATE_TEST_SUITE_P(, StoreFolders, testing::Values(false, true), [](const auto& info) {
  return info.param ? "WhereRenamingReplaces" : "WhereRenamingMaySpare";
});

TEST_P(StoreFolders, AreMadeOnceByAllWhoMakeThem) {
  make_together();
  for (int number = 0; number < names; ++number) {
    for (int maker = 0; maker < makers; ++maker)
      EXPECT_TRUE(fs::exists(scratch_.path() / std::to_string(number) / std::to_string(maker)))
          << "it was put into a folder that another one replaced";
  }
}

// As in an export that everybody may write.
TEST_P(StoreFolders, HaveTheRightsOfTheirParentWhateverTheUmask) {
  ASSERT_EQ(::chmod(scratch_.path().c_str(), 01777), 0);
  const auto before = ::umask(077);
  make_together();
  ::umask(before);
  for (int number = 0; number < names; ++number) {
    struct stat status = {};
    ASSERT_EQ(::stat((scratch_.path() / std::to_string(number)).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 01777U);
  }
}

}  // namespace
}  // namespace kiln::storage
