#include "opened_files.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kiln::test {
namespace {

using Paths = std::vector<std::string>;

TEST(OpenedFiles, AreThoseBetweenBeginAndEnd) {
  OpenedFiles files;
  files.note("before");
  files.begin();
  for (const char* path : {"b", "a", "b"}) files.note(path);
  EXPECT_EQ(files.end(), (Paths{"a", "b"}));
  files.note("after");
  files.begin();
  EXPECT_EQ(files.end(), Paths());
}

}  // namespace
}  // namespace kiln::test
