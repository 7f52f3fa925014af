// Stamps: what they save, and what they must not.

#include "lookup/replay.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/scratch.h"

namespace kiln::test {
namespace {

class Replaying : public ::testing::Test {
 protected:
  Replaying() { write_file(scratch_ / "a.h", "#define A 1\n"); }

  Replayed replay_with(const Digest& recorded, const Witness* witness) {
    const DependencySet set{.lookups = {{.spelling = "a.h", .content = recorded}}};
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

TEST_F(Replaying, EndsWhenItsTimeIsUp) {
  const DependencySet set{.lookups = {{.spelling = "a.h", .content = digest_of("#define A 1\n")}}};
  const auto now = std::chrono::steady_clock::now();
  EXPECT_TRUE(replay(set, search_, nullptr, files_, nullptr, now + std::chrono::hours(1)).holds());
  EXPECT_EQ(replay(set, search_, nullptr, files_, nullptr, now).difference,
            "to compare its headers took too long");
}

TEST_F(Replaying, WhatIsNotHereIsCounted) {
  std::filesystem::remove(scratch_ / "a.h");
  const auto replayed = replay_with(digest_of("anything"), nullptr);
  EXPECT_EQ(replayed.difference, "");
  EXPECT_EQ(replayed.absent, 1U);
  EXPECT_EQ(replay_with({}, nullptr).absent, 0U);
}

// What is only asked for may be missing; without what is included a compile would fail.
TEST_F(Replaying, WhetherItWouldCompileWithoutWhatIsNotHere) {
  std::filesystem::remove(scratch_ / "a.h");
  const auto with = [&](bool tested) {
    const DependencySet set{
        .lookups = {{.spelling = "a.h", .tested = tested, .content = digest_of("anything")}}};
    return replay(set, search_, nullptr, files_);
  };
  EXPECT_TRUE(with(true).compiles);
  EXPECT_FALSE(with(false).compiles);
  EXPECT_FALSE(with(true).holds());
  EXPECT_EQ(with(false).absence, "header a.h is not here");
}

TEST_F(Replaying, WhatHasToBeAsItWas) {
  const auto text = digest_of("#define A 1\n");
  const Dependency here{.spelling = "a.h", .content = text};
  const auto difference = [&](const DependencySet& set) {
    return replay(set, search_, nullptr, files_).difference;
  };
  EXPECT_EQ(difference({.lookups = {here}}), "");
  auto set = DependencySet{.lookups = {here}};
  set.lookups[0].modified_ns = HeaderFinder(search_).find("a.h").stamp.modified_ns;
  EXPECT_EQ(difference(set), "");
  ++set.lookups[0].modified_ns;
  EXPECT_EQ(difference(set), "header a.h has another time, which reached the output");
  set = {.lookups = {here}, .embedded_names = search_.embedded_names()};
  EXPECT_EQ(difference(set), "");
  set.embedded_names = digest_of("others");
  EXPECT_EQ(difference(set), "other headers are embedded");
  set = {.lookups = {here, {.spelling = "sub/../a.h", .content = text}}};
  std::filesystem::create_directory(scratch_ / "sub");
  EXPECT_EQ(difference(set), "header sub/../a.h is one file with others no more, or has become so");
  set.lookups[1].same_file = set.lookups[1].same_path = 0;
  EXPECT_EQ(difference(set), "");
}

TEST_F(Replaying, Places) {
  Dependency placed{
      .spelling = "0/a.h", .parent = Dependency::at_place, .content = digest_of("#define A 1\n")};
  const Dependency none{.spelling = "-/b.h", .parent = Dependency::at_place};
  const auto difference = [&](const DependencySet& set) {
    return replay(set, search_, nullptr, files_).difference;
  };
  EXPECT_EQ(difference({.lookups = {placed, none}, .directories = 1}), "");
  EXPECT_EQ(difference({.lookups = {placed, none}, .directories = 2}),
            "the headers that the compiler asked for lie in another number of include directories");
  placed.spelling = (scratch_ / "a.h").string();
  EXPECT_EQ(difference({.lookups = {placed}}), "");
  write_file(scratch_ / "b.h", "");
  EXPECT_NE(difference({.lookups = {none}}), "");
}

TEST_F(Replaying, AYoungFileIsReadEachTime) {
  const auto stamp = HeaderFinder(search_).find("a.h").stamp;
  EXPECT_FALSE(is_settled(stamp));
  EXPECT_EQ(files_.digest((scratch_ / "a.h").string(), stamp), digest_of("#define A 1\n"));
  write_file(scratch_ / "a.h", "#define A 2\n");
  const auto later = HeaderFinder(search_).find("a.h").stamp;
  EXPECT_EQ(files_.digest((scratch_ / "a.h").string(), later), digest_of("#define A 2\n"));
  EXPECT_NE(files_.digest((scratch_ / "a.h").string(), stamp), digest_of("#define A 1\n"));
}

TEST_F(Replaying, AFileIsNotReadForAnother) {
  auto stamp = HeaderFinder(search_).find("a.h").stamp;
  --stamp.modified_ns;
  EXPECT_EQ(files_.digest((scratch_ / "a.h").string(), stamp), std::nullopt);
  EXPECT_EQ(files_.read((scratch_ / "a.h").string(), stamp), nullptr);
}

// Every fifth look-up asks for a neighbour of the one before.
class ReplayingMany : public Replaying {
 protected:
  ReplayingMany() {
    for (std::uint32_t index = 0; index < 600; ++index) {
      const auto text = "#define H " + std::to_string(index);
      write_file(scratch_ / name_of(index), text);
      const auto parent = index % 5 == 4 ? index - 1 : Dependency::no_parent;
      recorded_.lookups.push_back(
          {.spelling = name_of(index), .parent = parent, .content = digest_of(text)});
    }
  }

  static std::string name_of(std::uint32_t index) { return "h" + std::to_string(index) + ".h"; }

  /// The spellings of what does not hold.
  std::vector<std::string> differences(HeaderDifference::Kind kind) {
    std::vector<HeaderDifference> all;
    (void)replay(recorded_, search_, nullptr, files_, &all);
    std::vector<std::string> spellings;
    for (const auto& difference : all) {
      EXPECT_EQ(difference.kind, kind);
      spellings.push_back(recorded_.lookups[difference.lookup].spelling);
    }
    return spellings;
  }

  DependencySet recorded_;
};

TEST_F(ReplayingMany, EachIsLookedAtInItsPlace) {
  using Kind = HeaderDifference::Kind;
  using Names = std::vector<std::string>;
  EXPECT_EQ(differences(Kind::changed), Names());
  for (const std::uint32_t index : {0U, 4U, 299U, 300U, 304U, 598U, 599U}) {
    const auto file = scratch_ / name_of(index);
    write_file(file, "another");
    EXPECT_EQ(differences(Kind::changed), Names{name_of(index)});
    EXPECT_EQ(replay(recorded_, search_, nullptr, files_).difference.substr(0, 19),
              ("header " + name_of(index) + " changed").substr(0, 19));
    std::filesystem::remove(file);
    EXPECT_EQ(differences(Kind::absent), Names{name_of(index)});
    EXPECT_EQ(replay(recorded_, search_, nullptr, files_).absent, 1U);
    write_file(file, "#define H " + std::to_string(index));
  }
}

TEST_F(ReplayingMany, TheFirstOfSeveralIsTold) {
  for (const std::uint32_t index : {550U, 299U, 20U}) {
    write_file(scratch_ / name_of(index), "another");
    EXPECT_EQ(replay(recorded_, search_, nullptr, files_).difference,
              "header " + name_of(index) + " changed" +
                  (index % 5 == 4 ? ", reached through " + name_of(index - 1) : ""));
  }
}

TEST(Stamps, AnOldFileIsSettled) {
  EXPECT_TRUE(is_settled({1, 2, 3, 1'000'000'000, 1'000'000'001}));
  EXPECT_TRUE(is_settled({1, 2, 3, 1'000'000'001, 1'000'000'000}));
  EXPECT_FALSE(is_settled({1, 2, 3, 1'000'000'001, INT64_MAX}));
}

}  // namespace
}  // namespace kiln::test
