#include "base/scratch_folder.h"

#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/child.h"
#include "support/scratch.h"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

class ScratchFolders : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path make_folder(const std::string& name) const {
    fs::create_directory(temporary_ / name);
    return temporary_ / name;
  }

  static void make_old(const fs::path& folder) {
    constexpr std::array<timeval, 2> long_ago{};
    ASSERT_EQ(::utimes(folder.c_str(), long_ago.data()), 0);
  }

  ScratchDirectory temporary_;
  ScopedVariable variable_{"TMPDIR", temporary_.path()};
};

TEST_F(ScratchFolders, OneIsPrivateAndGoesWithItsObject) {
  fs::path path;
  {
    const auto folder = ScratchFolder::make();
    ASSERT_TRUE(folder);
    path = folder->path();
    EXPECT_EQ(path.parent_path(), temporary_.path());
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    write_file(path / "deep/inside.txt", "text");
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(ScratchFolders, WhatAKilledProcessLeftGoesAndWhatALivingOneHasStays) {
  EXPECT_EQ(run_in_child([] {
              const auto left = ScratchFolder::make();
              if (!left) return 1;
              write_file(left->path() / "inside.txt", "text");
              ::_exit(0);
            }),
            0);
  ASSERT_FALSE(fs::is_empty(temporary_.path()));
  const auto first = ScratchFolder::make();
  const auto second = ScratchFolder::make();
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(fs::exists(first->path()) && fs::exists(second->path()));
  EXPECT_EQ(std::distance(fs::directory_iterator(temporary_.path()), {}), 2);
}

// Each of them sweeps, and sees the others' before they are locked.
TEST_F(ScratchFolders, OfProcessesThatStartTogetherAreThere) {
  constexpr int processes = 8;
  constexpr int folders = 200;
  const auto make_some = [] {
    for (int number = 0; number < folders; ++number) {
      const auto folder = ScratchFolder::make();
      if (!folder) return 1;
      if (!fs::exists(folder->path())) return 2;
    }
    return 0;
  };
  std::vector<pid_t> all;
  for (int process = 0; process < processes; ++process) {
    all.push_back(::fork());
    if (all.back() == 0) ::_exit(make_some());
  }
  for (const pid_t one : all) {
    int status = 0;
    ASSERT_EQ(::waitpid(one, &status, 0), one);
    EXPECT_EQ(status, 0);
  }
}

TEST_F(ScratchFolders, OneThatNobodyEverLockedGoesWhenItIsOldAndEmpty) {
  const auto fresh = make_folder("kiln-scratch-fresh");
  const auto old = make_folder("kiln-scratch-old");
  const auto full = make_folder("kiln-scratch-full");
  const auto other = make_folder("another");
  write_file(full / "inside.txt", "text");
  for (const auto& folder : {old, full, other}) make_old(folder);
  ASSERT_TRUE(ScratchFolder::make());
  EXPECT_TRUE(fs::exists(fresh));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(full));
  EXPECT_TRUE(fs::exists(other));
}

}  // namespace
}  // namespace kiln::test
