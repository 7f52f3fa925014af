#include "kiln/version.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace kiln::test {
namespace {

TEST(Version, IsThatOfTheHeaders) {
  EXPECT_EQ(version(),
            fmt::format("{}.{}.{}", KILN_VERSION_MAJOR, KILN_VERSION_MINOR, KILN_VERSION_PATCH));
  EXPECT_EQ(KILN_VERSION / 10000, KILN_VERSION_MAJOR);
  EXPECT_EQ(KILN_VERSION / 100 % 100, KILN_VERSION_MINOR);
  EXPECT_EQ(KILN_VERSION % 100, KILN_VERSION_PATCH);
}

}  // namespace
}  // namespace kiln::test
