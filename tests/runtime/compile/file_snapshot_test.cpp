// What a compile is told of the disk, and that it is told the same as kiln.

#include "compile/file_snapshot.h"

#include <sys/resource.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "source/header_files.h"
#include "support/scratch.h"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

class FileSnapshotTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return scratch_ / name; }

  static std::optional<std::string> text_in(FileSnapshot& files, const std::string& path) {
    std::FILE* const file = files.open(path.c_str());
    if (file == nullptr) return std::nullopt;
    std::string text;
    for (int byte = std::getc(file); byte != EOF; byte = std::getc(file))
      text.push_back(static_cast<char>(byte));
    std::fclose(file);
    return text;
  }

  static std::optional<struct stat> status_in(FileSnapshot& files, const std::string& path) {
    struct stat status {};
    if (files.stat(path.c_str(), &status) != 0) return std::nullopt;
    return status;
  }

  /// As a compile that begins once all files have settled.
  [[nodiscard]] static std::chrono::system_clock::time_point later() {
    return std::chrono::system_clock::now() + std::chrono::hours(1);
  }

  ScratchDirectory scratch_;
  std::vector<HeaderForCompiler> embedded_{{"lib/emb.cuh", "text"}, {"other.cuh", ""}};
  FileSnapshot files_{embedded_, path("own/")};
};

TEST_F(FileSnapshotTest, LooksOnceAtEachPath) {
  write_file(path("a.h"), "one");
  const auto before = status_in(files_, path("a.h"));
  EXPECT_EQ(text_in(files_, path("b.h")), std::nullopt);
  fs::remove(path("a.h"));
  write_file(path("a.h"), "another");
  write_file(path("b.h"), "b");
  EXPECT_EQ(text_in(files_, path("a.h")), "one");
  EXPECT_EQ(text_in(files_, path("a.h")), "one") << "as often as it is opened";
  EXPECT_EQ(status_in(files_, path("a.h"))->st_ino, before->st_ino);
  EXPECT_EQ(status_in(files_, path("a.h"))->st_size, 3);
  EXPECT_EQ(text_in(files_, path("b.h")), std::nullopt);
  EXPECT_FALSE(status_in(files_, path("b.h")));
  EXPECT_EQ(errno, ENOENT);
  const auto readings = files_.readings();
  const std::vector<Reading> expected{
      {path("a.h"), Reading::no_root, true, digest_of("one"), stamp_in(*before), 1, 3},
      {.path = path("b.h"), .asked_at = 2},
  };
  EXPECT_EQ(readings.files, expected);
  EXPECT_EQ(readings.doubt, "");
  EXPECT_FALSE(readings.relative);
}

TEST_F(FileSnapshotTest, TellsOfWhatIsOpenedOrFoundInTheOrderOfAsking) {
  write_file(path("a.h"), "a");
  fs::create_directory(path("folder"));
  (void)status_in(files_, path("absent.h"));
  (void)status_in(files_, path("folder"));
  (void)status_in(files_, path("a.h"));
  EXPECT_EQ(files_.readings().files.size(), 1U) << "the place of what is no file tells nothing";
  (void)text_in(files_, path("absent.h"));
  const auto files = files_.readings().files;
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].path, path("a.h"));
  EXPECT_EQ(files[1].path, path("absent.h"));
}

TEST_F(FileSnapshotTest, LinksAreOneFile) {
  write_file(path("a.h"), "one");
  fs::create_symlink(path("a.h"), path("soft.h"));
  fs::create_hard_link(path("a.h"), path("hard.h"));
  EXPECT_EQ(text_in(files_, path("a.h")), "one");
  EXPECT_EQ(text_in(files_, path("soft.h")), "one");
  EXPECT_EQ(text_in(files_, path("hard.h")), "one");
  EXPECT_EQ(status_in(files_, path("soft.h"))->st_ino, status_in(files_, path("a.h"))->st_ino);
  EXPECT_EQ(status_in(files_, path("hard.h"))->st_ino, status_in(files_, path("a.h"))->st_ino);
  EXPECT_EQ(files_.readings().doubt, "");
}

TEST_F(FileSnapshotTest, ADirectoryThatIsExchangedMeanwhile) {
  write_file(path("one/a.h"), "a of one");
  write_file(path("one/b.h"), "b of one");
  write_file(path("two/a.h"), "a of two");
  write_file(path("two/b.h"), "b of two");
  fs::create_directory_symlink(path("one"), path("now"));
  EXPECT_EQ(text_in(files_, path("now/a.h")), "a of one");
  fs::remove(path("now"));
  fs::create_directory_symlink(path("two"), path("now"));
  EXPECT_EQ(text_in(files_, path("now/a.h")), "a of one");
  EXPECT_EQ(text_in(files_, path("now/b.h")), "b of two");
  const auto files = files_.readings().files;
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].content, digest_of("a of one"));
  EXPECT_EQ(files[1].content, digest_of("b of two")) << "and nothing else is the key's";
}

// A filesystem gives the number of a file that is gone to the next one.
TEST_F(FileSnapshotTest, AnotherFileUnderANumberThatWasGivenAgain) {
  write_file(path("a.h"), "one");
  EXPECT_EQ(text_in(files_, path("a.h")), "one");
  write_file(path("a.h"), "another");
  fs::create_hard_link(path("a.h"), path("b.h"));
  EXPECT_EQ(text_in(files_, path("b.h")), "another");
  EXPECT_EQ(text_in(files_, path("a.h")), "one");
  EXPECT_NE(files_.readings().doubt, "");
}

// Where no file can be opened any more the compiler finds none; that is not the program's.
TEST_F(FileSnapshotTest, WhatCannotBeReadIsDoubted) {
  write_file(path("a.h"), "one");
  write_file(path("b.h"), "two");
  EXPECT_EQ(text_in(files_, path("a.h")), "one");
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{0, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto known = text_in(files_, path("a.h"));
  const auto doubt = files_.readings().doubt;
  const auto unknown = text_in(files_, path("b.h"));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(known, "one") << "needs no descriptor";
  EXPECT_EQ(doubt, "");
  EXPECT_EQ(unknown, std::nullopt);
  const auto readings = files_.readings();
  EXPECT_NE(readings.doubt.find("b.h"), std::string::npos) << readings.doubt;
  EXPECT_FALSE(readings.files.at(1).found);
  EXPECT_EQ(text_in(files_, path("b.h")), std::nullopt) << "it stays so";
}

TEST_F(FileSnapshotTest, WhatIsTooLargeIsDoubted) {
  write_file(path("large.h"), "#if 0\n");
  fs::resize_file(path("large.h"), most_header_bytes + 1);
  std::FILE* const file = files_.open(path("large.h").c_str());
  ASSERT_NE(file, nullptr) << "the compiler reads it by itself";
  std::fclose(file);
  EXPECT_NE(files_.readings().doubt.find("large.h"), std::string::npos);
}

TEST_F(FileSnapshotTest, EmbeddedNamesAreOnNoDisk) {
  const auto before = fs::current_path();
  fs::create_directories(path("here/lib"));
  fs::current_path(path("here"));
  FileSnapshot files(embedded_, "");
  EXPECT_FALSE(status_in(files, "lib/emb.cuh"));
  EXPECT_FALSE(status_in(files, path("here/other.cuh")));
  EXPECT_FALSE(status_in(files, "__nv_nvrtc_builtin_header.h"));
  EXPECT_FALSE(status_in(files, "lib/emb.cuh"));
  fs::current_path(before);
  const auto readings = files.readings();
  EXPECT_EQ(readings.embedded,
            (std::vector<EmbeddedReading>{{"lib/emb.cuh", 1}, {"other.cuh", 2}}));
  EXPECT_TRUE(readings.files.empty());
  EXPECT_FALSE(readings.relative);
}

TEST_F(FileSnapshotTest, TellsWhenAFileWasFirstAskedForAndRead) {
  write_file(path("a.h"), "a");
  write_file(path("b.h"), "");
  const auto look_at = [&](const std::string& name) {
    if (std::FILE* const file = files_.open(path(name).c_str())) std::fclose(file);
  };
  look_at("a.h");
  look_at("absent.h");
  look_at("b.h");
  (void)text_in(files_, path("b.h"));
  (void)text_in(files_, path("b.h"));
  const auto unread = files_.readings().files;
  (void)text_in(files_, path("a.h"));
  const auto files = files_.readings().files;
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(unread[0].read_at, 0U);
  EXPECT_EQ(files[0].asked_at, 1U);
  EXPECT_EQ(files[0].read_at, 5U);
  EXPECT_EQ(files[1].asked_at, 2U);
  EXPECT_EQ(files[1].read_at, 0U);
  EXPECT_EQ(files[2].asked_at, 3U);
  EXPECT_EQ(files[2].read_at, 4U);
}

TEST_F(FileSnapshotTest, ARelativePathIsOfTheWorkingDirectory) {
  (void)text_in(files_, "not/here.h");
  EXPECT_TRUE(files_.readings().relative);
  EXPECT_EQ(files_.readings().working_directory, fs::current_path().string());
}

TEST_F(FileSnapshotTest, TheCompilerStandsInOneFolder) {
  const auto here = fs::current_path();
  fs::current_path("/");
  std::string buffer(here.string().size() + 1, '?');
  EXPECT_STREQ(files_.working_directory(buffer.data(), buffer.size()), here.c_str());
  EXPECT_EQ(files_.working_directory(buffer.data(), buffer.size() - 1), nullptr);
  EXPECT_EQ(errno, ERANGE);
  fs::current_path(here);
}

TEST_F(FileSnapshotTest, WhereThatIsHiddenOrHasNoNameItIsTheRoot) {
  char buffer[2];
  const FileSnapshot hiding(embedded_, "", nullptr, true);
  EXPECT_STREQ(hiding.working_directory(buffer, sizeof buffer), "/");
  const auto here = fs::current_path();
  fs::create_directory(path("gone"));
  fs::current_path(path("gone"));
  fs::remove(path("gone"));
  const FileSnapshot nameless(embedded_, "");
  EXPECT_STREQ(nameless.working_directory(buffer, sizeof buffer), "/");
  fs::current_path(here);
}

TEST_F(FileSnapshotTest, AFifoIsNotWaitedFor) {
  ASSERT_EQ(::mkfifo(path("fifo.h").c_str(), 0600), 0);
  EXPECT_EQ(files_.open(path("fifo.h").c_str()), nullptr);
  EXPECT_EQ(errno, ENXIO);
}

TEST_F(FileSnapshotTest, ItsOwnFolderIsTheCompilers) {
  write_file(path("own/prelude.pch"), "one");
  EXPECT_EQ(text_in(files_, path("own/prelude.pch")), "one");
  write_file(path("own/prelude.pch"), "two");
  EXPECT_EQ(text_in(files_, path("own/prelude.pch")), "two");
  EXPECT_TRUE(files_.readings().files.empty());
  EXPECT_TRUE(files_.is_own(path("own/x")));
  EXPECT_FALSE(files_.is_own(path("owner")));
  EXPECT_FALSE(FileSnapshot(embedded_, "").is_own("/anything"));
}

TEST_F(FileSnapshotTest, WhatWasAskedForBeforeItBeganToWrite) {
  write_file(path("a.h"), "a");
  write_file(path("b.h"), "b");
  (void)text_in(files_, path("a.h"));
  (void)status_in(files_, "lib/emb.cuh");
  files_.note_writing(path("elsewhere"));
  EXPECT_FALSE(files_.readings_before_writing());
  files_.note_writing(path("own/prelude.pch"));
  (void)text_in(files_, path("b.h"));
  (void)status_in(files_, "other.cuh");
  files_.note_writing(path("own/another.pch"));
  const auto before = files_.readings_before_writing();
  ASSERT_TRUE(before);
  ASSERT_EQ(before->files.size(), 1U);
  EXPECT_EQ(before->files[0].path, path("a.h"));
  ASSERT_EQ(before->embedded.size(), 1U);
  EXPECT_EQ(before->embedded[0].name, "lib/emb.cuh");
  EXPECT_EQ(files_.readings().files.size(), 2U);
}

// What the compiler calls by a directory's name is found in the directory, and told to be below it.
TEST_F(FileSnapshotTest, AnswersForNamedDirectories) {
  write_file(path("dir/a.h"), "a");
  const NamedRoots roots({path("other"), path("dir")});
  FileSnapshot files(embedded_, path("own/"), &roots);
  const auto told = "#line 1 \"" + path("dir/a.h") + "\"\na";
  EXPECT_EQ(text_in(files, roots.names()[1] + "/a.h"), told);
  EXPECT_EQ(text_in(files, roots.names()[0] + "/a.h"), std::nullopt);
  EXPECT_EQ(text_in(files, path("dir/a.h")), "a");
  const auto readings = files.readings();
  ASSERT_EQ(readings.files.size(), 3U);
  EXPECT_TRUE(readings.rooted);
  EXPECT_EQ(readings.files[0].root, 1U);
  EXPECT_EQ(readings.files[0].path, path("dir/a.h"));
  EXPECT_EQ(readings.files[1].root, 0U);
  EXPECT_EQ(readings.files[1].path, path("other/a.h"));
  EXPECT_EQ(readings.files[2].root, Reading::no_root) << "spelled by a text";
  EXPECT_EQ(readings.doubt, "");
  FileSnapshot later(embedded_, path("own/"), &roots);
  ASSERT_TRUE(later.adopt(readings, std::chrono::system_clock::now()));
  EXPECT_EQ(later.readings().files, readings.files);
  EXPECT_EQ(text_in(later, roots.names()[1] + "/a.h"), told);
  EXPECT_FALSE(later.met_second_name());
}

TEST_F(FileSnapshotTest, DoubtsWhatIsBelowNoNamedDirectory) {
  const NamedRoots roots({path("dir")});
  FileSnapshot files(embedded_, path("own/"), &roots);
  (void)text_in(files, NamedRoots::beginning() + "0/a.h");
  EXPECT_TRUE(files.doubts()) << "the compiler has taken `..` off";
}

class Adopting : public FileSnapshotTest {
 protected:
  Adopting() {
    write_file(path("a.h"), "a");
    fs::create_symlink(path("a.h"), path("link.h"));
    (void)text_in(files_, path("a.h"));
    (void)text_in(files_, path("link.h"));
    (void)text_in(files_, path("absent.h"));
    (void)status_in(files_, "lib/emb.cuh");
    readings_ = files_.readings();
  }

  bool adopts(std::chrono::system_clock::time_point when) {
    return FileSnapshot(embedded_, path("own/")).adopt(readings_, when);
  }

  Readings readings_;
};

TEST_F(Adopting, WhatHoldsIsTakenOver) {
  for (const auto when : {later(), std::chrono::system_clock::now()}) {
    FileSnapshot files(embedded_, path("own/"));
    ASSERT_TRUE(files.adopt(readings_, when));
    EXPECT_EQ(files.readings().files, readings_.files);
    EXPECT_EQ(files.readings().embedded, readings_.embedded);
    EXPECT_EQ(text_in(files, path("link.h")), "a");
    EXPECT_EQ(status_in(files, path("a.h"))->st_ino, status_in(files, path("link.h"))->st_ino);
    EXPECT_EQ(files.readings().doubt, "");
  }
}

TEST_F(Adopting, WhatChangedIsRefused) {
  write_file(path("a.h"), "b");
  EXPECT_FALSE(adopts(later()));
}

TEST_F(Adopting, WhatChangedAMomentAfterItWasReadIsRefused) {
  auto& stamp = readings_.files[0].stamp;
  fs::remove(path("link.h"));
  readings_.files.erase(readings_.files.begin() + 1);
  write_file(path("a.h"), "b");
  struct stat status {};
  ASSERT_EQ(::stat(path("a.h").c_str(), &status), 0);
  stamp = stamp_in(status);
  EXPECT_FALSE(adopts(std::chrono::system_clock::now())) << "which a stamp does not show";
}

TEST_F(Adopting, WhatWasOneFileAndIsTwoIsRefused) {
  fs::remove(path("link.h"));
  write_file(path("link.h"), "a");
  EXPECT_FALSE(adopts(later())) << "#pragma once goes by the file";
}

TEST_F(Adopting, WhatWasTwoFilesAndIsOneIsRefused) {
  fs::remove(path("link.h"));
  write_file(path("link.h"), "a");
  FileSnapshot apart(embedded_, path("own/"));
  (void)text_in(apart, path("a.h"));
  (void)text_in(apart, path("link.h"));
  readings_ = apart.readings();
  EXPECT_TRUE(adopts(later()));
  fs::remove(path("link.h"));
  fs::create_hard_link(path("a.h"), path("link.h"));
  EXPECT_FALSE(adopts(later()));
}

TEST_F(Adopting, WhatIsGoneIsRefused) {
  fs::remove(path("link.h"));
  EXPECT_FALSE(adopts(later()));
}

TEST_F(Adopting, WhatAppearedIsRefused) {
  write_file(path("absent.h"), "");
  EXPECT_FALSE(adopts(later()));
}

TEST_F(Adopting, WhatIsNotEmbeddedIsRefused) {
  embedded_.erase(embedded_.begin());
  EXPECT_FALSE(adopts(later()));
}

TEST_F(Adopting, WhatIsDoubtedIsRefused) {
  readings_.doubt = "a reason";
  EXPECT_FALSE(adopts(later()));
}

TEST_F(Adopting, RelativePathsHoldInTheirDirectory) {
  readings_.relative = true;
  EXPECT_TRUE(adopts(later()));
  readings_.working_directory = "/elsewhere";
  EXPECT_FALSE(adopts(later()));
  readings_.relative = false;
  EXPECT_TRUE(adopts(later()));
}

// The precompiled header holds the old text, so that no answer is right any more.
TEST_F(Adopting, WhatChangesAfterwardsIsDoubtedWhenItIsRead) {
  FileSnapshot files(embedded_, path("own/"));
  ASSERT_TRUE(files.adopt(readings_, later()));
  write_file(path("a.h"), "longer than it was");
  EXPECT_EQ(text_in(files, path("a.h")), std::nullopt);
  EXPECT_NE(files.readings().doubt, "");
}

}  // namespace
}  // namespace kiln::test
