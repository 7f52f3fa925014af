#include "base/contained_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/scratch.h"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ContainedFolders : public ::testing::Test {
 protected:
  [[nodiscard]] ContainedFolder folder() const { return ContainedFolder::make(folder_).value(); }

  ScratchDirectory scratch_;
  const fs::path folder_ = scratch_ / "deep/sources";
};

TEST_F(ContainedFolders, FilesLieBelowAndReplaceEachOther) {
  const auto contained = folder();
  ASSERT_TRUE(contained.write("/kiln/dir//k.cu", "one", 0));
  ASSERT_TRUE(contained.write("kiln/./dir/k.cu", "two", 1'700'000'000'000'000'001));
  EXPECT_EQ(read_file(folder_ / "kiln/dir/k.cu"), "two");
  struct stat status {};
  ASSERT_EQ(::stat((folder_ / "kiln/dir/k.cu").c_str(), &status), 0);
  EXPECT_EQ(status.st_mtim.tv_sec, 1'700'000'000);
  EXPECT_EQ(status.st_mtim.tv_nsec, 1);
  const auto files = std::distance(fs::directory_iterator(folder_ / "kiln/dir"), {});
  EXPECT_EQ(files, 1) << "nothing temporary is left";
}

TEST_F(ContainedFolders, NoNameLeadsOut) {
  write_file(scratch_ / "outside", "before");
  const auto contained = folder();
  for (const std::string name : {"../outside", "a/../../outside", "/../../outside", "..", "", "/",
                                 ".", "a\nb", "a\x1b[2J", "a\x7f"}) {
    const auto written = contained.write(name, "after", 0);
    ASSERT_FALSE(written) << name;
    EXPECT_EQ(written.error().code, ErrorCode::invalid_argument) << name;
    EXPECT_THAT(written.error().message, HasSubstr(folder_.string()));
    EXPECT_TRUE(std::none_of(written.error().message.begin(), written.error().message.end(),
                             [](unsigned char c) { return c < 0x20 || c == 0x7f; }));
  }
  EXPECT_EQ(read_file(scratch_ / "outside"), "before");
}

TEST_F(ContainedFolders, NoLinkInItIsFollowed) {
  const auto contained = folder();
  fs::create_directory(scratch_ / "elsewhere");
  write_file(scratch_ / "file", "before");
  fs::create_directory_symlink(scratch_ / "elsewhere", folder_ / "folder");
  fs::create_symlink(scratch_ / "file", folder_ / "file");
  fs::create_symlink(scratch_ / "made", folder_ / "dangling");

  EXPECT_FALSE(contained.write("folder/k.cu", "after", 0));
  EXPECT_TRUE(fs::is_empty(scratch_ / "elsewhere"));
  // The file takes the link's place.
  ASSERT_TRUE(contained.write("file", "after", 0));
  ASSERT_TRUE(contained.write("dangling", "after", 0));
  EXPECT_EQ(read_file(scratch_ / "file"), "before");
  EXPECT_FALSE(fs::exists(scratch_ / "made"));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder_ / "file")));
}

TEST_F(ContainedFolders, AFileIsNoFolderAndAFolderNoFile) {
  const auto contained = folder();
  ASSERT_TRUE(contained.write("a", "file", 0));
  const auto below = contained.write("a/b", "text", 0);
  ASSERT_FALSE(below);
  EXPECT_EQ(below.error().code, ErrorCode::io_failed);
  EXPECT_THAT(below.error().message, HasSubstr((folder_ / "a").string()));
  ASSERT_TRUE(contained.write("c/d", "text", 0));
  EXPECT_FALSE(contained.write("c", "file", 0));
  EXPECT_EQ(read_file(folder_ / "c/d"), "text");
}

TEST_F(ContainedFolders, SparesAFolderOfOtherThings) {
  write_file(scratch_ / "home/.profile", "mine");
  const auto refused = ContainedFolder::make(scratch_ / "home");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(refused.error().message, HasSubstr("holds other things"));
  // Its own it knows again, and one through a link too: that is the user's word.
  ASSERT_TRUE(folder().write("a", "one", 0));
  fs::create_directory_symlink(folder_, scratch_ / "link");
  const auto again = ContainedFolder::make(scratch_ / "link");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->write("a", "two", 0));
  EXPECT_FALSE(ContainedFolder::make("/"));
}

TEST_F(ContainedFolders, CannotBeMadeWhereAFileLies) {
  write_file(scratch_ / "file", "text");
  const auto refused = ContainedFolder::make(scratch_ / "file");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::io_failed);
}

}  // namespace
}  // namespace kiln::test
