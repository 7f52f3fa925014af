// What a compile asked for, as look-ups that hold here and are no others.

#include "narrow/narrow.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compile/file_snapshot.h"
#include "lookup/replay.h"
#include "narrow/closure_of_readings.h"
#include "source/closure.h"
#include "source/named_roots.h"
#include "source/query.h"
#include "support/scratch.h"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

class Narrow : public ::testing::Test {
 protected:
  Narrow() {
    for (const auto* name : {"one", "two"}) fs::create_directories(scratch_ / name);
    spec_.name = "k.cu";
    spec_.include_dirs = {scratch_ / "one", scratch_ / "two"};
  }

  [[nodiscard]] std::string path(const std::string& name) const { return scratch_ / name; }

  /// What is told of a program with this source, for which the compiler opens these files.
  Closure narrowed(const std::string& source, const std::vector<std::string>& opened,
                   const std::vector<std::string>& embedded = {}) {
    spec_.source = source;
    program_ = Program::make(spec_).value();
    query_.emplace(*program_, Target::parse("sm_80").value(), std::vector<fs::path>{}, "");
    const auto closure = close_over(*program_, query_->search, files_);
    const NamedRoots roots(query_->search.directories());
    FileSnapshot snapshot(closure.embedded, "", rooted_ ? &roots : nullptr);
    const auto asked = [&](const std::string& name) {
      const auto number = name.starts_with("one/") ? 0U : name.starts_with("two/") ? 1U : 2U;
      if (!rooted_ || number >= roots.names().size()) return path(name);
      return roots.names()[number] + name.substr(3);
    };
    struct stat status {};
    for (const auto& name : embedded) (void)snapshot.stat(name.c_str(), &status);
    for (const auto& name : looked_at_) {
      if (std::FILE* const file = snapshot.open(asked(name).c_str())) std::fclose(file);
    }
    for (const auto& name : opened) {
      if (std::FILE* const file = snapshot.open(asked(name).c_str())) {
        (void)std::fgetc(file);
        std::fclose(file);
      }
    }
    auto readings = snapshot.readings();
    if (meanwhile_) meanwhile_(readings);
    auto of_all = narrow(*query_, closure, readings, files_);
    const auto read = closure_of_readings(*query_, closure.source, readings, files_);
    const auto of_read = narrow(*query_, read, readings, files_);
    EXPECT_EQ(spellings(of_read), spellings(of_all));
    EXPECT_TRUE(of_read.dependencies.material() == of_all.dependencies.material());
    EXPECT_EQ(of_read.not_stored.empty(), of_all.not_stored.empty());
    return of_all;
  }

  static std::vector<std::string> spellings(const Closure& closure) {
    std::vector<std::string> all;
    for (const auto& lookup : closure.dependencies.lookups) all.push_back(lookup.spelling);
    return all;
  }

  bool holds(const Closure& closure) {
    HeaderFiles files;
    const HeaderSearch search(*program_, {});
    return replay(closure.dependencies, search, nullptr, files).holds();
  }

  /// That this header of "two" is guessed as the neighbour of another one.
  static void expect_guessed(const Closure& closure, const std::string& name) {
    EXPECT_EQ(closure.dependencies.directories, 0U) << "by its place";
    const auto& lookups = closure.dependencies.lookups;
    EXPECT_TRUE(std::any_of(lookups.begin(), lookups.end(), [&](const Dependency& lookup) {
      return lookup.spelling == name && lookup.parent < Dependency::at_place;
    }));
  }

  /// That it holds no more when this header of "two" is moved to "one", where other look-ups find it as before.
  void expect_bound_to_place(const Closure& closure, const std::string& name) {
    EXPECT_TRUE(holds(closure));
    fs::create_directories(fs::path(path("one/" + name)).parent_path());
    fs::rename(path("two/" + name), path("one/" + name));
    EXPECT_FALSE(holds(closure));
  }

  using Names = std::vector<std::string>;

  ScratchDirectory scratch_;
  ProgramSpec spec_;
  std::optional<Program> program_;
  std::optional<Query> query_;
  HeaderFiles files_;
  std::vector<std::string> looked_at_;  // Opened before all others, and not read.
  std::function<void(Readings&)> meanwhile_;
  bool rooted_ = true;  // The include directories have names.
};

TEST_F(Narrow, WhatWasForeseenIsKept) {
  write_file(path("two/a.h"), "#include \"b.h\"\n#if 0\n#include \"never.h\"\n#endif\n");
  write_file(path("two/b.h"), "");
  write_file(path("two/never.h"), "");
  const auto closure = narrowed("#include <a.h>\n#if __has_include(<c.h>)\n#endif\n",
                                {"one/a.h", "two/a.h", "two/b.h", "one/c.h", "two/c.h"});
  EXPECT_EQ(spellings(closure), (Names{"a.h", "b.h", "c.h"})) << "as it asked";
  const auto& lookups = closure.dependencies.lookups;
  EXPECT_EQ(lookups[0].content, digest_of(read_file(path("two/a.h"))));
  EXPECT_FALSE(lookups[0].tested);
  EXPECT_EQ(lookups[1].parent, 0U);
  EXPECT_TRUE(lookups[2].tested);
  EXPECT_TRUE(lookups[2].content.empty());
  EXPECT_EQ(closure.dependencies.directories, 0U);
  EXPECT_TRUE(closure.dependencies.embedded_names.empty());
  EXPECT_EQ(closure.dependencies.working_directory, "");
  EXPECT_EQ(closure.not_stored, "");
  EXPECT_TRUE(holds(closure));
  write_file(path("two/never.h"), "another");
  EXPECT_TRUE(holds(closure));
  write_file(path("one/c.h"), "");
  EXPECT_FALSE(holds(closure));
}

// A question of the scan's `#include` may have been one of `__has_include`'s.
TEST_F(Narrow, WhatWasNotReadWasOnlyAskedFor) {
  write_file(path("one/a.h"), "a");
  looked_at_ = {"one/a.h"};
  const auto closure =
      narrowed("#if 0\n#include \"a.h\"\n#endif\n#if __has_include(<a.h>)\n#endif\n", {});
  EXPECT_EQ(spellings(closure), (Names{"a.h", "a.h"}));
  for (const auto& lookup : closure.dependencies.lookups) EXPECT_TRUE(lookup.tested);
}

// Whether a compile fails without the headers that are gone, is known by the first of them.
TEST_F(Narrow, TheFirstThatIsGoneTells) {
  write_file(path("one/a.h"), "#include \"b.h\"\n#include <d.h>\n");
  write_file(path("one/b.h"), "");
  write_file(path("one/c.h"), "");
  write_file(path("two/d.h"), "");
  const auto closure =
      narrowed("#include <a.h>\n#if __has_include(<c.h>)\n#endif\n#include <d.h>\n",
               {"one/a.h", "one/b.h", "one/c.h", "one/d.h", "two/d.h"});
  EXPECT_EQ(spellings(closure), (Names{"a.h", "b.h", "c.h", "d.h"}));
  const auto compiles_without = [&](const Names& gone) {
    for (const auto& name : gone) fs::rename(path(name), path(name) + ".gone");
    HeaderFiles files;
    const HeaderSearch search(*program_, {});
    const auto replayed = replay(closure.dependencies, search, nullptr, files);
    for (const auto& name : gone) fs::rename(path(name) + ".gone", path(name));
    EXPECT_EQ(replayed.difference, "");
    EXPECT_GE(replayed.absent, gone.size());
    return replayed.compiles;
  };
  EXPECT_FALSE(compiles_without({"one/a.h"}));
  EXPECT_FALSE(compiles_without({"one/b.h"}));
  EXPECT_TRUE(compiles_without({"one/c.h"}));
  EXPECT_FALSE(compiles_without({"two/d.h"}));
  EXPECT_FALSE(compiles_without({"one/a.h", "one/b.h", "one/c.h", "two/d.h"}));
  EXPECT_FALSE(compiles_without({"one/b.h", "one/c.h"})) << "it does not come to c.h";
  EXPECT_TRUE(compiles_without({"one/c.h", "two/d.h"})) << "it may not come to d.h";
}

// Behind the name that is gone, NVRTC looks for this one.
TEST_F(Narrow, WhatIsFoundByTheFrontEndsOwnSuffixIsNotGone) {
  write_file(path("one/a"), "");
  const auto closure = narrowed("#include <a>\n", {"one/a"});
  const auto compiles = [&] {
    HeaderFiles files;
    const HeaderSearch search(*program_, {});
    return replay(closure.dependencies, search, nullptr, files).compiles;
  };
  EXPECT_TRUE(compiles());
  fs::remove(path("one/a"));
  EXPECT_FALSE(compiles());
  write_file(path("two/a.stdh"), "");
  EXPECT_TRUE(compiles());
}

// Which of two look-ups a compiler has made that lead to one file, nobody knows.
TEST_F(Narrow, WhatAnotherLookUpFindsTellsNothing) {
  write_file(path("one/a.h"), "#include \"b.h\"\n#if 0\n#include <x/../b.h>\n#endif\n");
  write_file(path("one/b.h"), "");
  write_file(path("one/x/y.h"), "");
  const auto closure = narrowed("#include <a.h>\n", {"one/a.h", "one/b.h", "one/x/../b.h"});
  fs::remove_all(path("one/x"));
  HeaderFiles files;
  const HeaderSearch search(*program_, {});
  const auto replayed = replay(closure.dependencies, search, nullptr, files);
  EXPECT_EQ(replayed.absent, 1U);
  EXPECT_TRUE(replayed.compiles);
}

TEST_F(Narrow, WhereDirectoriesHaveNoNamesEachIsKeptAtItsPlace) {
  rooted_ = false;
  write_file(path("two/a.h"), "a");
  write_file(path("two/more.h"), "more");
  const auto closure =
      narrowed("#include <a.h>\n", {"one/a.h", "two/a.h", "one/more.h", "two/more.h", "three/x.h"});
  EXPECT_EQ(spellings(closure),
            (Names{"-/a.h", path("one/a.h"), "0/a.h", path("two/a.h"), "-/more.h",
                   path("one/more.h"), "0/more.h", path("two/more.h"), path("three/x.h")}))
      << "and also at the path, which a text may have spelled";
  for (const auto& lookup : closure.dependencies.lookups) {
    EXPECT_EQ(lookup.parent, Dependency::at_place);
    EXPECT_TRUE(lookup.tested);
  }
  EXPECT_EQ(closure.dependencies.directories, 1U);
  EXPECT_FALSE(closure.dependencies.embedded_names.empty());
  EXPECT_EQ(closure.not_stored, "");
  EXPECT_TRUE(holds(closure));
  write_file(path("one/more.h"), "more");
  EXPECT_FALSE(holds(closure));
  fs::remove(path("one/more.h"));
  EXPECT_TRUE(holds(closure));
  write_file(path("two/more.h"), "another");
  EXPECT_FALSE(holds(closure));
}

const std::string hidden_test = "#define INNER(x) __has_include(x)\n#define HAS(x) INNER(x)\n";

// All look-ups that may have asked so are kept: wherever they lead to the same, it is the same.
TEST_F(Narrow, WhatWasNotForeseenIsGuessed) {
  write_file(path("two/lib/alpha.h"), "#if HAS(\"beta.h\")\n#endif\n");
  write_file(path("two/lib/beta.h"), "");
  const auto closure = narrowed(
      hidden_test + "#include <lib/alpha.h>\n#if HAS(<gamma.h>)\n#endif\n",
      {"one/lib/alpha.h", "two/lib/alpha.h", "two/lib/beta.h", "one/gamma.h", "two/gamma.h"});
  EXPECT_EQ(spellings(closure), (Names{"lib/alpha.h", "beta.h", "gamma.h"}));
  const auto& lookups = closure.dependencies.lookups;
  EXPECT_EQ(lookups[0].parent, Dependency::no_parent);
  EXPECT_EQ(lookups[1].parent, 0U);
  EXPECT_TRUE(lookups[1].tested);
  EXPECT_TRUE(lookups[2].content.empty());
  EXPECT_EQ(closure.dependencies.directories, 0U);
  EXPECT_FALSE(closure.dependencies.embedded_names.empty()) << "of which nobody tells";
  EXPECT_TRUE(holds(closure));
  fs::rename(path("two/lib"), path("one/lib"));
  EXPECT_TRUE(holds(closure)) << "moved";
  write_file(path("two/gamma.h"), "");
  EXPECT_FALSE(holds(closure));
}

// The same place is asked for by `<lib/beta.h>`.
TEST_F(Narrow, AGuessIsForEachWayToAPlace) {
  write_file(path("one/lib/alpha.h"), "#if HAS(\"beta.h\")\n#endif\n");
  write_file(path("one/lib/beta.h"), "");
  const auto closure =
      narrowed(hidden_test + "#include <lib/alpha.h>\n", {"one/lib/alpha.h", "one/lib/beta.h"});
  EXPECT_EQ(spellings(closure), (Names{"lib/alpha.h", "beta.h", "lib/beta.h"}));
}

TEST_F(Narrow, WhereANameMayBeMadeAHeaderMayAskForItself) {
  write_file(path("one/lib/alpha.h"), "#if HAS(STRING(beta.h))\n#endif\n");
  write_file(path("one/lib/beta.h"), "");
  const auto closure = narrowed(
      hidden_test + "#define STRING(x) #x\n#define HAS(x) INNER(x)\n#include <lib/alpha.h>\n",
      {"one/lib/alpha.h", "one/lib/beta.h"});
  EXPECT_EQ(spellings(closure), (Names{"lib/alpha.h", "alpha.h", "beta.h", "lib/beta.h"}));
}

// `"n.h"` shows nowhere: it is the file that `<lib/n.h>` finds.
TEST_F(Narrow, MacrosOfAnEmbeddedHeaderThatWasNotForeseenCount) {
  spec_.headers = {HeaderSet::from_texts({{"e.h", "#define HAS (0 + __has_include(\"n.h\"))\n"}})};
  write_file(path("two/lib/d.h"), "#if HAS\n#endif\n");
  write_file(path("two/lib/n.h"), "");
  const auto closure = narrowed(
      "#define STRING(x) #x\n#include STRING(e.h)\n#include <lib/d.h>\n#include <lib/n.h>\n",
      {"one/lib/d.h", "two/lib/d.h", "two/lib/n.h", "one/lib/n.h"}, {"e.h"});
  expect_guessed(closure, "n.h");
  expect_bound_to_place(closure, "lib/n.h");
}

// In a directory without "n", NVRTC looks for "n.stdh", and there its search ends.
TEST_F(Narrow, WhatIsFoundByTheFrontEndsOwnSuffix) {
  write_file(path("two/lib/d.h"), "#if __has_include(\"n\")\n#endif\n");
  write_file(path("two/lib/n.stdh"), "");
  const auto closure = narrowed(
      "#include <lib/d.h>\n#include <lib/n>\n",
      {"one/lib/d.h", "two/lib/d.h", "two/lib/n", "two/lib/n.stdh", "one/lib/n", "one/lib/n.stdh"});
  expect_bound_to_place(closure, "lib/n.stdh");
}

TEST_F(Narrow, WhatAHeaderOfTheFrontEndsOwnSuffixAsksForCounts) {
  write_file(path("two/lib/n.stdh"), "#if __has_include(\"m.h\")\n#endif\n");
  write_file(path("two/lib/m.h"), "");
  const auto closure = narrowed(
      "#include <lib/n>\n#include <lib/m.h>\n",
      {"one/lib/n", "one/lib/n.stdh", "two/lib/n", "two/lib/n.stdh", "two/lib/m.h", "one/lib/m.h"});
  expect_bound_to_place(closure, "lib/m.h");
}

TEST_F(Narrow, APathThatATextSpellsCountsWhateverTheDirectoriesAre) {
  write_file(path("one/a.h"), "");
  write_file(path("three/x.h"), "x");
  const auto closure = narrowed("#define ROOT /usr\n#if __has_include(STRING(ROOT))\n#endif\n",
                                {"one/a.h", "three/x.h"});
  EXPECT_EQ(spellings(closure), (Names{"a.h", path("three/x.h")}));
  EXPECT_EQ(closure.dependencies.lookups[1].parent, Dependency::at_place);
  EXPECT_TRUE(holds(closure));
  write_file(path("three/x.h"), "another");
  EXPECT_FALSE(holds(closure));
}

TEST_F(Narrow, MacrosOfAHeaderThatATextSpellsCount) {
  write_file(path("three/x.h"), "#define ASK (0 + __has_include(\"n.h\"))\n");
  write_file(path("two/lib/d.h"), "#if ASK\n#endif\n");
  write_file(path("two/lib/n.h"), "");
  const auto closure =
      narrowed("#define ROOT /usr\n#include STRING(ROOT)\n#include <lib/d.h>\n#include <lib/n.h>\n",
               {"three/x.h", "one/lib/d.h", "two/lib/d.h", "two/lib/n.h", "one/lib/n.h"});
  expect_guessed(closure, "n.h");
  expect_bound_to_place(closure, "lib/n.h");
}

// Two include directories, of which one holds the other: the name tells by which the compiler came.
TEST_F(Narrow, ADirectoryWithinAnotherIsNoOther) {
  write_file(path("one/in/a.h"), "");
  spec_.include_dirs = {path("one"), path("one/in")};
  const auto closure = narrowed("#include MACRO(a)\n", {"one/a.h", "two/a.h"});
  EXPECT_EQ(spellings(closure), (Names{"a.h"})) << "and no \"in/a.h\"";
}

const std::string searching_on = "#include_next <b.h>\n";

TEST_F(Narrow, WhatMaySearchOnIsKeptAtItsPlace) {
  write_file(path("two/a.h"), "a");
  const auto closure = narrowed(searching_on + "#include <a.h>\n",
                                {"one/a.h", "two/a.h", "one/more.h", "two/more.h", "three/x.h"});
  EXPECT_EQ(spellings(closure),
            (Names{"-/a.h", "0/a.h", "-/more.h", "0/more.h", path("three/x.h")}));
  EXPECT_EQ(closure.dependencies.directories, 1U);
  EXPECT_NE(closure.not_stored, "") << "there may be a directory behind the last one";
}

TEST_F(Narrow, OfWhatWasOnlyLookedAtNothingElseCounts) {
  write_file(path("one/a.h"), "a");
  looked_at_ = {"one/a.h"};
  const auto closure = narrowed("#if __has_include(<a.h>)\n#endif\n", {});
  EXPECT_EQ(closure.dependencies.lookups.at(0).reach, Dependency::Reach::presence);
  write_file(path("one/a.h"), "another");
  EXPECT_TRUE(holds(closure));
  fs::remove(path("one/a.h"));
  EXPECT_FALSE(holds(closure));
}

TEST_F(Narrow, WhereMoreDirectoriesHoldIt) {
  write_file(path("one/a.h"), "a");
  write_file(path("two/a.h"), "a, the next");
  const auto closure = narrowed(searching_on + "#include <a.h>\n",
                                {"one/a.h", "one/more.h", "two/more.h", "three/x.h"});
  EXPECT_EQ(closure.dependencies.directories, 2U);
  EXPECT_EQ(spellings(closure), (Names{"0/a.h", "0/more.h", "1/more.h", path("three/x.h")}));
  EXPECT_TRUE(holds(closure));
}

TEST_F(Narrow, WhatGoesAwayBeforeItIsPlacedIsNotKept) {
  write_file(path("two/a.h"), "a");
  write_file(path("two/more.h"), "more");
  meanwhile_ = [&](Readings&) {
    fs::remove(path("two/a.h"));
    fs::remove(path("two/more.h"));
  };
  const auto closure = narrowed(searching_on + "#include <a.h>\n",
                                {"one/a.h", "two/a.h", "one/more.h", "two/more.h"});
  EXPECT_NE(closure.not_stored, "");
}

TEST_F(Narrow, TheCompilersContentCounts) {
  write_file(path("two/a.h"), "a");
  auto closure = narrowed("#include <a.h>\n", {"one/a.h", "two/a.h"});
  meanwhile_ = [&](Readings& readings) { readings.files[1].content = digest_of("what it read"); };
  closure = narrowed("#include <a.h>\n", {"one/a.h", "two/a.h"});
  EXPECT_EQ(closure.dependencies.lookups.at(0).content, digest_of("what it read"));
  EXPECT_NE(closure.not_stored.find("a.h changed"), std::string::npos) << "its text is nowhere";
}

TEST_F(Narrow, WhatIsOnePathAndWhatIsOneFile) {
  write_file(path("two/a.h"), "#include \"b.h\"\n#include \"sub/../b.h\"\n");
  write_file(path("two/b.h"), "");
  fs::create_directories(path("two/sub"));
  fs::create_symlink("b.h", path("two/link.h"));
  const auto closure =
      narrowed("#include <a.h>\n#include <link.h>\n",
               {"one/a.h", "two/a.h", "two/b.h", "two/sub/../b.h", "one/link.h", "two/link.h"});
  const auto none = Dependency::no_other;
  ASSERT_EQ(spellings(closure), (Names{"a.h", "link.h", "b.h", "sub/../b.h"}));
  const auto& lookups = closure.dependencies.lookups;
  EXPECT_EQ(lookups[1].same_path, none);
  EXPECT_EQ(lookups[1].same_file, none);
  EXPECT_EQ(lookups[2].same_path, none);
  EXPECT_EQ(lookups[2].same_file, 1U);
  EXPECT_EQ(lookups[3].same_path, 2U) << "by a roundabout way";
  EXPECT_EQ(lookups[3].same_file, 1U);
  EXPECT_TRUE(holds(closure));
  fs::remove(path("two/link.h"));
  write_file(path("two/link.h"), read_file(path("two/b.h")));
  EXPECT_FALSE(holds(closure)) << "equal, and one file no more";
}

TEST_F(Narrow, WhatIsOneFileInTwoFolders) {
  write_file(path("two/a.h"), "#include \"n.h\"\n");
  fs::create_directories(path("two/sub"));
  fs::create_symlink("../a.h", path("two/sub/a.h"));
  for (const auto* name : {"two/n.h", "two/sub/n.h"}) write_file(path(name), "");
  const auto closure =
      narrowed("#include <a.h>\n#include <sub/a.h>\n",
               {"one/a.h", "two/a.h", "two/n.h", "one/sub/a.h", "two/sub/a.h", "two/sub/n.h"});
  EXPECT_EQ(spellings(closure), (Names{"a.h", "sub/a.h", "n.h", "n.h"}));
  const auto& link = closure.dependencies.lookups[1];
  EXPECT_EQ(link.same_path, Dependency::no_other) << "beside it lies another n.h";
  EXPECT_EQ(link.same_file, 0U);
}

TEST_F(Narrow, WhatIsEmbedded) {
  spec_.headers = {HeaderSet::from_texts(
      {{"lib/a.h", "#include \"b.h\"\n"}, {"lib/b.h", ""}, {"lib/never.h", ""}})};
  const auto source = "#include <lib/a.h>\n#if 0\n#include <lib/never.h>\n#endif\n";
  const auto closure = narrowed(source, {}, {"lib/a.h", "lib/b.h"});
  EXPECT_EQ(spellings(closure), (Names{"lib/a.h", "b.h"}));
  EXPECT_EQ(closure.dependencies.lookups[1].parent, 0U);
  EXPECT_TRUE(holds(closure));
}

TEST_F(Narrow, ARelativePathIsBoundToTheWorkingDirectory) {
  meanwhile_ = [](Readings& readings) { readings.relative = true; };
  EXPECT_EQ(narrowed("", {}).dependencies.working_directory, fs::current_path().string());
}

TEST_F(Narrow, WhatIsDoubtedIsNotKept) {
  meanwhile_ = [](Readings& readings) { readings.doubt = "a reason"; };
  EXPECT_EQ(narrowed("", {}).not_stored, "a reason");
}

}  // namespace
}  // namespace kiln::test
