// Stamps: what they save, and what they must not.

#include "fingerprint.h"

#include <gtest/gtest.h>

#include "support/scratch.h"

namespace kiln::test {
namespace {

class Replaying : public ::testing::Test {
 protected:
  Replaying() { write_file(scratch_ / "a.h", "#define A 1\n"); }

  Replayed replay_with(const Digest& recorded, const Witness* witness) {
    const DependencySet set{{{"a.h", Dependency::no_parent, recorded, {}}}, {}};
    return replay(set, search_, witness, files_);
  }

  ScratchDirectory scratch_;
  Program program_ =
      Program::make({.name = "a.cu", .source = "#include <a.h>", .include_dirs = {scratch_.path()}})
          .value();
  HeaderSearch search_{program_, {}};
  HeaderFiles files_;
};

TEST_F(Replaying, AFileThatLooksAsItDidIsNotRead) {
  const Witness witness{search_.roots(), {HeaderFinder(search_).find("a.h").stamp}};
  EXPECT_EQ(replay_with(digest_of("anything else"), &witness).difference, "");
  EXPECT_EQ(replay_with(digest_of("anything else"), nullptr).difference, "header a.h changed");
}

TEST_F(Replaying, AFileThatLooksDifferentIsRead) {
  const auto stamp = HeaderFinder(search_).find("a.h").stamp;
  auto size = stamp, modified = stamp, changed = stamp, inode = stamp;
  ++size.size, --modified.modified_ns, --changed.changed_ns, ++inode.inode;
  for (const auto& other : {size, modified, changed, inode, FileStamp{}}) {
    const Witness witness{search_.roots(), {other}};
    EXPECT_EQ(replay_with(digest_of("anything else"), &witness).difference, "header a.h changed");
    EXPECT_EQ(replay_with(digest_of("#define A 1\n"), &witness).difference, "");
  }
}

TEST_F(Replaying, AWitnessOfAnotherLengthIsNone) {
  const Witness witness{search_.roots(), {}};
  EXPECT_EQ(replay_with(digest_of("anything else"), &witness).difference, "header a.h changed");
}

TEST_F(Replaying, WhatIsNotHereIsCounted) {
  std::filesystem::remove(scratch_ / "a.h");
  const auto replayed = replay_with(digest_of("anything"), nullptr);
  EXPECT_EQ(replayed.difference, "");
  EXPECT_EQ(replayed.trusted, 1U);
  EXPECT_EQ(replay_with({}, nullptr).trusted, 0U);
}

TEST_F(Replaying, AYoungFileIsReadEachTime) {
  const auto stamp = HeaderFinder(search_).find("a.h").stamp;
  EXPECT_FALSE(is_settled(stamp));
  EXPECT_EQ(files_.digest((scratch_ / "a.h").string(), stamp), digest_of("#define A 1\n"));
  write_file(scratch_ / "a.h", "#define A 2\n");
  EXPECT_EQ(files_.digest((scratch_ / "a.h").string(), stamp), digest_of("#define A 2\n"));
}

TEST(Stamps, AnOldFileIsSettled) {
  EXPECT_TRUE(is_settled({1, 2, 3, 1'000'000'000, 1'000'000'000}));
  EXPECT_FALSE(is_settled({1, 2, 3, 1'000'000'000, INT64_MAX}));
}

}  // namespace
}  // namespace kiln::test
