#include <string>

#include <gtest/gtest.h>

#include "kiln/cache.h"
#include "support/variable.h"

namespace kiln {
namespace {

using test::Variable;

TEST(DefaultCacheDirectory, IsXdgThenHome) {
  const Variable home("HOME", "/home/ada");
  {
    const Variable xdg("XDG_CACHE_HOME", "/var/cache/ada");
    EXPECT_EQ(default_cache_directory().value(), "/var/cache/ada/kiln");
  }
  const Variable xdg("XDG_CACHE_HOME", nullptr);
  EXPECT_EQ(default_cache_directory().value(), "/home/ada/.cache/kiln");
}

TEST(DefaultCacheDirectory, IgnoresARelativeXdgPath) {
  const Variable home("HOME", "/home/ada");
  for (const char* relative : {"cache", "", "./x"}) {
    const Variable xdg("XDG_CACHE_HOME", relative);
    EXPECT_EQ(default_cache_directory().value(), "/home/ada/.cache/kiln");
  }
}

TEST(DefaultCacheDirectory, SaysWhatToDoWhenThereIsNone) {
  const Variable xdg("XDG_CACHE_HOME", nullptr);
  for (const char* home : {static_cast<const char*>(nullptr), "", "relative"}) {
    const Variable variable("HOME", home);
    const auto directory = default_cache_directory();
    ASSERT_FALSE(directory);
    EXPECT_EQ(directory.error().code, ErrorCode::cache_unusable);
    EXPECT_NE(directory.error().message.find("HOME"), std::string::npos);
    EXPECT_NE(directory.error().message.find("name a cache directory with KILN_CACHE_DIR"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace kiln
