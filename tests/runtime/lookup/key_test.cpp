// The key table: what must miss and what must hit, each row on real compiles.
// One table of rows that share their programs, and so one file, though long.

#include <fcntl.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "another_build.h"
#include "compile_fixture.h"
#include "support/child.h"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* plain_source = R"(
#ifndef A
#define A 1
#endif
template <class T> __global__ void scale(T* x) { x[threadIdx.x] *= T(A); }
extern "C" __global__ void other(float* x) { x[0] = 1; }
)";

class Key : public CompileFixture {
 protected:
  static ProgramSpec plain() {
    return {.name = "plain.cu", .source = plain_source, .kernels = {"scale<float>"}};
  }

  // A program that includes `direct.cuh`, which includes `sub/nested.cuh` beside it.
  static ProgramSpec including() {
    return {.name = "inc.cu",
            .source = "#include <lib/direct.cuh>\n__global__ void k(int* x) { *x = nested(); }",
            .kernels = {"k"}};
  }
  static constexpr const char* direct_text = "#pragma once\n#include \"sub/nested.cuh\"\n";
  static constexpr const char* nested_text =
      "#pragma once\n__device__ inline int nested() { return 1; }\n";
  static constexpr const char* nested_changed =
      "#pragma once\n__device__ inline int nested() { return 2; }\n";

  static HeaderSet embedded(const std::string& direct = direct_text,
                            const std::string& nested = nested_text,
                            const std::string& unreached = "one") {
    return HeaderSet::from_texts({{"lib/direct.cuh", direct},
                                  {"lib/sub/nested.cuh", nested},
                                  {"lib/unreached.cuh", unreached}});
  }

  fs::path on_disk(const std::string& folder) const {
    const auto root = scratch_ / folder;
    write_file(root / "lib/direct.cuh", direct_text);
    write_file(root / "lib/sub/nested.cuh", nested_text);
    return root;
  }

  ProgramSpec with_embedded(HeaderSet set) const {
    auto spec = including();
    spec.headers = {std::move(set)};
    return spec;
  }

  ProgramSpec with_directory(const fs::path& directory) const {
    auto spec = including();
    spec.include_dirs = {directory};
    return spec;
  }
};

TEST_F(Key, TheSameRequestHits) {
  EXPECT_EQ(origin_of(plain()), Origin::compiled);
  EXPECT_EQ(origin_of(plain()), Origin::local);
}

TEST_F(Key, AByteOfTheSourceMisses) {
  origin_of(plain());
  auto changed = plain();
  changed.source.back() = ' ';
  EXPECT_EQ(origin_of(changed), Origin::compiled);
}

TEST_F(Key, AnOptionMisses) {
  origin_of(plain());
  auto changed = plain();
  changed.options = {"-DA=2"};
  EXPECT_EQ(origin_of(changed), Origin::compiled);
  EXPECT_EQ(origin_of(changed), Origin::local);
}

TEST_F(Key, TheOrderOfOptionsMisses) {
  auto first = plain();
  first.options = {"-DB=1", "-DC=2"};
  origin_of(first);
  auto second = plain();
  second.options = {"-DC=2", "-DB=1"};
  EXPECT_EQ(origin_of(second), Origin::compiled);
}

TEST_F(Key, OptionsDoNotRunTogether) {
  auto first = plain();
  first.options = {"-D", "B=1"};
  origin_of(first);
  auto second = plain();
  second.options = {"-DB=1"};
  EXPECT_EQ(origin_of(second), Origin::compiled);
}

TEST_F(Key, ANameExpressionMissesAndItsOrderDoesNot) {
  auto both = plain();
  both.kernels = {"scale<float>", "scale<double>"};
  origin_of(plain());
  EXPECT_EQ(origin_of(both), Origin::compiled);
  both.kernels = {"scale<double>", "scale<float>", "scale<double>"};
  EXPECT_EQ(origin_of(both), Origin::local);
}

TEST_F(Key, TheArchitectureMisses) {
  origin_of(plain(), "sm_90");
  EXPECT_EQ(origin_of(plain(), "sm_90a"), Origin::compiled);
  EXPECT_EQ(origin_of(plain(), "sm_80"), Origin::compiled);
  EXPECT_EQ(origin_of(plain(), "sm_90"), Origin::local);
}

TEST_F(Key, TheImageKindMisses) {
  origin_of(plain(), "sm_80", ImageKind::cubin);
  EXPECT_EQ(origin_of(plain(), "sm_80", ImageKind::ptx), Origin::compiled);
  EXPECT_EQ(origin_of(plain(), "sm_80", ImageKind::ltoir), Origin::compiled);
  EXPECT_EQ(origin_of(plain(), "sm_80", ImageKind::optixir), Origin::compiled);
}

TEST_F(Key, AVariableThatNvrtcReadsMisses) {
  origin_of(plain());
  const ScopedVariable variable("NVRTC_SOMETHING", "1");
  EXPECT_EQ(origin_of(plain()), Origin::compiled);
}

// The same library with another build-id in its notes: to every reader another build. The original is
// mapped in a process of its own, since thread sanitizer takes no two libraries of one name.
TEST_F(Key, AnotherBuildOfNvrtcMisses) {
  ASSERT_EQ(run_in_child([&] {
              origin_of(plain());
              write_file(scratch_ / "path",
                         Runtime::open(options()).value().compiler().path.string());
              return 0;
            }),
            0);
  const fs::path original = read_file(scratch_ / "path");
  ASSERT_FALSE(original.empty());
  const auto folder = scratch_ / "nvrtc";
  fs::create_directories(folder);
  for (const auto& file : fs::directory_iterator(original.parent_path())) {
    const auto name = file.path().filename().string();
    if (name == original.filename() || name.starts_with("libnvrtc-builtins.so.")) {
      fs::copy_file(file.path(), folder / file.path().filename());
    }
  }
  const auto copy = folder / original.filename();
  turn_into_another_build(copy);

  EXPECT_EQ(origin_of(plain()), Origin::local);
  const ScopedVariable exact("KILN_NVRTC", copy.string());
  EXPECT_EQ(origin_of(plain()), Origin::compiled);
}

TEST_F(Key, ContentOfAnEmbeddedHeaderMisses) {
  origin_of(with_embedded(embedded()));
  EXPECT_EQ(origin_of(with_embedded(embedded())), Origin::local);
  EXPECT_EQ(origin_of(with_embedded(embedded(std::string(direct_text) + "// more\n"))),
            Origin::compiled);
  EXPECT_EQ(origin_of(with_embedded(embedded(direct_text, nested_changed))), Origin::compiled);
}

TEST_F(Key, ContentOfAHeaderOnDiskMisses) {
  const auto root = on_disk("include");
  origin_of(with_directory(root));
  EXPECT_EQ(origin_of(with_directory(root)), Origin::local);
  write_file(root / "lib/direct.cuh", std::string(direct_text) + "// more\n");
  EXPECT_EQ(origin_of(with_directory(root)), Origin::compiled);
  write_file(root / "lib/sub/nested.cuh", nested_changed);
  EXPECT_EQ(origin_of(with_directory(root)), Origin::compiled);
  EXPECT_EQ(misses_.back(), "header sub/nested.cuh changed, reached through lib/direct.cuh");
}

TEST_F(Key, AnEmbeddedHeaderThatIsNotReachedHits) {
  origin_of(with_embedded(embedded(direct_text, nested_text, "one")));
  EXPECT_EQ(origin_of(with_embedded(embedded(direct_text, nested_text, "two"))), Origin::local);
}

TEST_F(Key, TouchingHits) {
  const auto root = on_disk("include");
  origin_of(with_directory(root));
  const timespec times[2] = {{1'000'000, 0}, {1'000'000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (root / "lib/direct.cuh").c_str(), times, 0), 0);
  EXPECT_EQ(origin_of(with_directory(root)), Origin::local);
}

TEST_F(Key, AnotherContentUnderTheOldTimeMisses) {
  const auto root = on_disk("include");
  const auto nested = root / "lib/sub/nested.cuh";
  const timespec times[2] = {{1'000'000, 0}, {1'000'000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, nested.c_str(), times, 0), 0);
  origin_of(with_directory(root));
  write_file(nested, nested_changed);
  ASSERT_EQ(::utimensat(AT_FDCWD, nested.c_str(), times, 0), 0);
  EXPECT_EQ(origin_of(with_directory(root)), Origin::compiled);
}

TEST_F(Key, AMovedIncludeDirectoryHits) {
  const auto root = on_disk("include");
  origin_of(with_directory(root));
  fs::rename(root, scratch_ / "elsewhere");
  EXPECT_EQ(origin_of(with_directory(scratch_ / "elsewhere")), Origin::local);
}

// As libcu++'s are named. In each directory that lacks such a name NVRTC also asks for one of its own; the comment holds
// what might be an absolute path, so that a question that nobody foresaw would be kept at its whole path.
TEST_F(Key, AMovedDirectoryHitsWhoseHeadersHaveNoExtension) {
  const auto tree = [this](const std::string& folder) {
    auto spec = with_directory(scratch_ / folder / "last");
    spec.include_dirs = {scratch_ / folder / "first", scratch_ / folder / "second",
                         scratch_ / folder / "last"};
    spec.source.insert(0, "#include <lib/target>  // <em>x</em>, cub/tmp/dev\n");
    return spec;
  };
  fs::create_directories(scratch_ / "include/first");
  fs::create_directories(scratch_ / "include/second/lib");
  on_disk("include/last");
  write_file(scratch_ / "include/last/lib/target", "#include \"beside\"\n");
  write_file(scratch_ / "include/last/lib/beside", "#define TARGET 1\n");
  origin_of(tree("include"));
  fs::rename(scratch_ / "include", scratch_ / "elsewhere");
  EXPECT_EQ(origin_of(tree("elsewhere")), Origin::local);
  write_file(scratch_ / "elsewhere/second/lib/target", "#error found here\n");
  EXPECT_FALSE(try_compile(tree("elsewhere")));
}

TEST_F(Key, ANameOfTheFrontEndsOwnThatAppearsMisses) {
  const auto root = on_disk("include");
  write_file(root / "lib/target", "#define TARGET 1\n");
  auto spec = with_directory(root);
  spec.include_dirs.insert(spec.include_dirs.begin(), scratch_ / "first");
  spec.source.insert(0, "#include <lib/target>\n");
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  EXPECT_EQ(origin_of(spec), Origin::local);
  write_file(scratch_ / "first/lib/target.stdh", "#error found here\n");
  EXPECT_FALSE(try_compile(spec)) << "NVRTC reads it there";
}

TEST_F(Key, ACacheCarriedToAnotherPlaceHits) {
  origin_of(with_directory(on_disk("include")));
  ScratchDirectory other_host;
  fs::rename(cache_directory(), other_host / "cache");
  const auto before = fs::current_path();
  fs::current_path(other_host.path());
  RuntimeOptions there;
  there.cache_directory = other_host / "cache";
  const auto artifact = Runtime::open(there).value().compile(
      Program::make(with_directory(on_disk("include"))).value(), Target::parse("sm_80").value());
  fs::current_path(before);
  ASSERT_TRUE(artifact);
  EXPECT_EQ(artifact->origin, Origin::local);
}

TEST_F(Key, AHeaderMovedFromDiskIntoAnEmbeddedSetHits) {
  origin_of(with_directory(on_disk("include")));
  EXPECT_EQ(origin_of(with_embedded(embedded())), Origin::local);
}

// What includes it cannot be compiled here; said once.
TEST_F(Key, AHeaderThatIsNotHereIsTrustedAtLast) {
  const auto root = on_disk("include");
  origin_of(with_directory(root));
  fs::remove_all(root);
  std::vector<std::string> said;
  auto settings = options();
  settings.log = [&](LogLevel, std::string_view line) { said.emplace_back(line); };
  auto runtime = Runtime::open(settings).value();
  for (int time = 0; time < 2; ++time) {
    const auto artifact = runtime.compile(Program::make(with_directory(root)).value(),
                                          Target::parse("sm_80").value());
    ASSERT_TRUE(artifact) << artifact.error().message;
    EXPECT_NE(artifact->origin, Origin::compiled);
  }
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said[0].find("2 of its headers are not here and are trusted"), std::string::npos)
      << said[0];
}

TEST_F(Key, AHeaderThatWasOnlyAskedForIsTrustedWithoutACompilerAlone) {
  auto spec = plain();
  spec.source =
      "#if __has_include(<optional.cuh>)\n#include <optional.cuh>\n#endif\n" + spec.source;
  spec.include_dirs = {scratch_ / "first", scratch_ / "second"};
  write_file(scratch_ / "second/optional.cuh", "#define A 7\n");
  const auto with = try_compile(spec).value();
  const auto second = std::exchange(spec.include_dirs, {scratch_ / "first"});
  {
    const ScopedVariable no_compiler("KILN_NVRTC", (scratch_ / "none").string());
    const auto trusted = try_compile(spec);
    ASSERT_TRUE(trusted) << trusted.error().message;
    EXPECT_EQ(trusted->image, with.image);
  }
  const auto without = try_compile(spec).value();
  EXPECT_EQ(without.origin, Origin::compiled);
  EXPECT_NE(without.image, with.image);
  EXPECT_EQ(misses_.back(), "header optional.cuh is not here");
  spec.include_dirs = second;
  EXPECT_EQ(try_compile(spec)->image, with.image);
  EXPECT_EQ(origin_of(spec), Origin::local);
}

TEST_F(Key, StandardHeadersThatAreLeftOutMiss) {
  auto spec = plain();
  spec.headers = {standard_headers()};
  origin_of(spec);
  EXPECT_EQ(origin_of(spec), Origin::local);
  spec.headers = {};
  EXPECT_EQ(origin_of(spec), Origin::compiled);
}

TEST_F(Key, AQuotedIncludeInTheSourceHits) {
  auto quoted = including();
  quoted.source = "#include \"lib/direct.cuh\"\n__global__ void k(int* x) { *x = nested(); }";
  auto on_disk_too = quoted;
  quoted.headers = {embedded()};
  origin_of(quoted);
  EXPECT_EQ(origin_of(quoted), Origin::local);
  on_disk_too.include_dirs = {on_disk("include")};
  EXPECT_EQ(origin_of(on_disk_too), Origin::local);
  write_file(scratch_ / "include/lib/sub/nested.cuh", nested_changed);
  EXPECT_EQ(origin_of(on_disk_too), Origin::compiled);
}

// With a compiler at hand, a guess between two versions would be a guess.
TEST_F(Key, AHeaderThatIsNotHereIsNotTrustedWhereEntriesDiffer) {
  const auto root = on_disk("include");
  origin_of(with_directory(root));
  write_file(root / "lib/sub/nested.cuh", nested_changed);
  const auto newest = try_compile(with_directory(root)).value();
  fs::remove_all(root);
  const auto artifact = try_compile(with_directory(root));
  ASSERT_FALSE(artifact);
  EXPECT_EQ(artifact.error().code, ErrorCode::header_not_found);
  EXPECT_EQ(misses_.back(), "some of its headers are not here, and 2 entries differ in them");

  const ScopedVariable no_compiler("KILN_NVRTC", (scratch_ / "none").string());
  const auto without = try_compile(with_directory(root));
  ASSERT_TRUE(without) << without.error().message;
  EXPECT_EQ(without->image, newest.image);
}

TEST_F(Key, AFileThatNewlyShadowsARecordedOneMisses) {
  const auto root = on_disk("include");
  const auto earlier = scratch_ / "earlier";
  fs::create_directories(earlier);
  auto spec = including();
  spec.include_dirs = {earlier, root};
  origin_of(spec);
  EXPECT_EQ(origin_of(spec), Origin::local);
  write_file(earlier / "lib/direct.cuh", "__device__ inline int nested() { return 3; }\n");
  EXPECT_EQ(origin_of(spec), Origin::compiled);
}

TEST_F(Key, AHeaderThatNewlyAppearsMisses) {
  auto spec = plain();
  spec.source =
      "#if __has_include(<optional.cuh>)\n#include <optional.cuh>\n#endif\n" + spec.source;
  spec.include_dirs = {scratch_ / "include"};
  fs::create_directories(scratch_ / "include");
  origin_of(spec);
  EXPECT_EQ(origin_of(spec), Origin::local);
  write_file(scratch_ / "include/optional.cuh", "#define A 7\n");
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  EXPECT_EQ(misses_.back(), "header optional.cuh was absent and now is there");
}

TEST_F(Key, OneNameWithTwoSourcesGivesTwoRightEntries) {
  auto one = plain();
  one.source = "extern \"C\" __global__ void k(int* x) { *x = 11; }";
  one.kernels = {};
  auto two = one;
  two.source = "extern \"C\" __global__ void k(int* x) { *x = 22; }";
  const auto first = try_compile(one).value();
  const auto second = try_compile(two).value();
  EXPECT_NE(first.image, second.image);
  const auto first_again = try_compile(one).value();
  const auto second_again = try_compile(two).value();
  EXPECT_EQ(first_again.origin, Origin::local);
  EXPECT_EQ(second_again.origin, Origin::local);
  EXPECT_EQ(first_again.image, first.image);
  EXPECT_EQ(second_again.image, second.image);
}

TEST_F(Key, WhatTellsTheTimeIsCompiledAndNotStored) {
  auto spec = plain();
  spec.source += "__device__ const char* built() { return __TIME__; }\n";
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  ASSERT_EQ(not_stored_.size(), 2U);
  EXPECT_EQ(not_stored_[0], "/kiln/plain.cu: it uses __DATE__, __TIME__ or __TIMESTAMP__");
}

TEST_F(Key, WhatIsNotKeptSaysSoOnceForEachProgram) {
  auto spec = plain();
  spec.source += "__device__ const char* built() { return __TIME__; }\n";
  std::vector<std::string> warnings;
  auto with_log = options();
  with_log.log = [&](LogLevel, std::string_view line) { warnings.emplace_back(line); };
  auto runtime = Runtime::open(std::move(with_log)).value();
  const auto program = Program::make(spec).value();
  for (const auto* arch : {"sm_80", "sm_90"}) {
    const auto artifact = runtime.compile(program, Target::parse(arch).value()).value();
    EXPECT_EQ(artifact.not_kept, "/kiln/plain.cu: it uses __DATE__, __TIME__ or __TIMESTAMP__");
  }
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], testing::HasSubstr("plain.cu for sm_80 is compiled and not kept"));
  EXPECT_EQ(runtime.counters().not_kept, 2U);
  EXPECT_EQ(try_compile(plain()).value().not_kept, "");
}

TEST_F(Key, TheTimeInACommentIsNoReason) {
  auto spec = plain();
  spec.source += "// not __TIME__, nor /* __DATE__ */\n";
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  EXPECT_EQ(origin_of(spec), Origin::local);
}

// A macro that takes its text from what the compiler alone knows.
TEST_F(Key, AMacroIncludeThatCannotBeExpandedIsKeptByWhatTheCompilerAskedFor) {
  const auto root = on_disk("include");
  auto spec = with_directory(root);
  spec.include_dirs.insert(spec.include_dirs.begin(), scratch_ / "earlier");
  spec.source =
      "#define STRING(x) #x\n#define IN(x) STRING(x)\n"
      "#define PICK IN(lib/direct.cuh)\n#include PICK\n"
      "__global__ void k(int* x) { *x = nested(); }";
  fs::create_directories(scratch_ / "earlier");
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  EXPECT_TRUE(not_stored_.empty()) << not_stored_[0];
  EXPECT_EQ(origin_of(spec), Origin::local);
  write_file(root / "lib/sub/nested.cuh", nested_changed);
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  write_file(scratch_ / "earlier/lib/direct.cuh", "inline __device__ int nested() { return 5; }");
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  EXPECT_EQ(origin_of(spec), Origin::local);
}

// `"n.h"` shows nowhere: it is the file that `<lib/n.h>` finds.
TEST_F(Key, WhatAMacroOfAnEmbeddedHeaderAsksForCounts) {
  auto spec = plain();
  spec.headers = {HeaderSet::from_texts({{"e.h", "#define ASK (0 + __has_include(\"n.h\"))\n"}})};
  spec.include_dirs = {scratch_ / "one", scratch_ / "two"};
  spec.source =
      "#define STRING(x) #x\n#include STRING(e.h)\n#include <lib/d.h>\n#include <lib/n.h>\n"
      "__global__ void k(int* x) { *x = VALUE; }";
  spec.kernels = {"k"};
  write_file(scratch_ / "two/lib/d.h",
             "#if ASK\n#define VALUE 1\n#else\n#define VALUE 2\n#endif\n");
  write_file(scratch_ / "two/lib/n.h", "");
  fs::create_directories(scratch_ / "one/lib");
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  EXPECT_EQ(origin_of(spec), Origin::local);
  fs::rename(scratch_ / "two/lib/n.h", scratch_ / "one/lib/n.h");
  EXPECT_EQ(origin_of(spec), Origin::compiled);
}

// With its own suffix NVRTC's front end looks in each directory, before it goes on to the next one.
TEST_F(Key, AHeaderWithoutAnExtensionIsLookedForWithASuffix) {
  auto spec = plain();
  spec.kernels = {"k"};
  spec.include_dirs = {scratch_ / "one", scratch_ / "two"};
  spec.source = "#include <lib/d.h>\n__global__ void k(int* x) { *x = VALUE; }";
  write_file(scratch_ / "one/lib/d.h", "#include \"o\"\n");
  write_file(scratch_ / "one/lib/o", "#define VALUE 1\n");
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  EXPECT_EQ(origin_of(spec), Origin::local);
  fs::rename(scratch_ / "one/lib/o", scratch_ / "one/o");
  EXPECT_EQ(origin_of(spec), Origin::local) << "elsewhere, and the same";
  write_file(scratch_ / "one/lib/o.stdh", "#define VALUE 2\n");
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  EXPECT_EQ(origin_of(spec), Origin::local);
}

// As in libcu++ of CUDA 12: for host compilers, with a header that only those have.
TEST_F(Key, AnIncludeNextOfNothingIsFollowed) {
  auto spec = with_directory(scratch_ / "include");
  spec.include_dirs.push_back(scratch_ / "more");
  write_file(scratch_ / "include/lib/direct.cuh",
             "#define VALUE 1\n#ifndef __CUDACC_RTC__\n#include_next <stddef.h>\n#endif\n");
  spec.source = "#include <lib/direct.cuh>\n__global__ void k(int* x) { *x = VALUE; }";
  spec.kernels = {"k"};
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  EXPECT_EQ(origin_of(spec), Origin::local);
  EXPECT_TRUE(not_stored_.empty());
  write_file(scratch_ / "more/stddef.h", "#define VALUE 2\n");
  EXPECT_EQ(origin_of(spec), Origin::local) << "no compiler asks for it";
}

TEST_F(Key, AnIncludeNextOfAHeaderThatIsThereIsKeptByWhereItIs) {
  auto spec = with_directory(scratch_ / "first");
  spec.include_dirs.push_back(scratch_ / "second");
  spec.include_dirs.push_back(scratch_ / "third");
  write_file(scratch_ / "first/value.cuh", "#include_next <value.cuh>\n");
  write_file(scratch_ / "third/value.cuh", "#define VALUE 2\n");
  fs::create_directories(scratch_ / "second");
  spec.source = "#include <value.cuh>\n__global__ void k(int* x) { *x = VALUE; }";
  spec.kernels = {"k"};
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  EXPECT_TRUE(not_stored_.empty()) << not_stored_[0];
  EXPECT_EQ(origin_of(spec), Origin::local);
  write_file(scratch_ / "third/value.cuh", "#define VALUE 3\n");
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  write_file(scratch_ / "second/value.cuh", "#define VALUE 4\n");
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  EXPECT_EQ(origin_of(spec), Origin::local);
}

TEST_F(Key, AMacroIncludeIsFollowed) {
  const auto root = on_disk("include");
  auto spec = with_directory(root);
  spec.source =
      "#define FOLDER lib\n#define PICK <FOLDER/direct.cuh>\n#include PICK\n"
      "__global__ void k(int* x) { *x = nested(); }";
  origin_of(spec);
  EXPECT_EQ(origin_of(spec), Origin::local);
  write_file(root / "lib/sub/nested.cuh", nested_changed);
  EXPECT_EQ(origin_of(spec), Origin::compiled);
}

TEST_F(Key, AnOptionThatTellsTheTimeIsNotStored) {
  auto spec = plain();
  spec.options = {"-DWHEN=__TIME__"};
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  EXPECT_EQ(origin_of(spec), Origin::compiled);
}

// NVRTC would look for what an embedded header quotes below the working directory.
TEST_F(Key, TheWorkingDirectoryIsNotSearched) {
  ProgramSpec spec{.name = "cwd.cu",
                   .source = "#include <engine/a.cuh>\n__global__ void k(int* x) { *x = B; }",
                   .headers = {HeaderSet::from_texts({{"engine/a.cuh", "#include \"b.h\"\n"}})},
                   .include_dirs = {scratch_ / "good"},
                   .kernels = {"k"}};
  write_file(scratch_ / "good/b.h", "#define B 1\n");
  const auto right = try_compile(spec).value();
  write_file(scratch_ / "planted/b.h", "#define B 2\n");
  write_file(scratch_ / "planted/engine/b.h", "#define B 3\n");
  fs::remove_all(cache_directory());
  fs::current_path(scratch_ / "planted");
  const auto planted = try_compile(spec).value();
  fs::current_path("/");
  EXPECT_EQ(planted.origin, Origin::compiled);
  EXPECT_EQ(planted.image, right.image);
}

TEST_F(Key, AMacroIncludeInAnEmbeddedHeaderIsKeptByWhatTheCompilerAskedFor) {
  ProgramSpec spec{
      .name = "m.cu",
      .source = "#include <eng/a.cuh>\n__global__ void k(int* x) { *x = INFO; }",
      .headers = {HeaderSet::from_texts({{"eng/a.cuh", "#define H \"info.h\"\n#include H\n"},
                                         {"eng/info.h", "#define INFO 1\n"}})},
      .include_dirs = {scratch_ / "include"},
      .kernels = {"k"}};
  write_file(scratch_ / "include/info.h", "#define INFO 2\n");
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  EXPECT_EQ(origin_of(spec), Origin::local);
  write_file(scratch_ / "include/info.h", "#define INFO 3\n");
  EXPECT_EQ(origin_of(spec), Origin::compiled);
}

// Recorded with all in one folder; then one of two includers lies elsewhere, beside another c.h.
TEST_F(Key, EveryIncluderIsReplayed) {
  ProgramSpec spec{
      .name = "split.cu",
      .source = "#include <a.h>\n#include <b.h>\n__global__ void k(int* x) { *x = C; }",
      .include_dirs = {scratch_ / "all"},
      .kernels = {"k"}};
  write_file(scratch_ / "all/a.h", "#include \"c.h\"\n");
  write_file(scratch_ / "all/b.h", "#undef C\n#include \"c.h\"\n// b\n");
  write_file(scratch_ / "all/c.h", "#define C 1\n");
  origin_of(spec);
  fs::create_directories(scratch_ / "one");
  fs::create_directories(scratch_ / "two");
  fs::rename(scratch_ / "all/a.h", scratch_ / "one/a.h");
  fs::rename(scratch_ / "all/c.h", scratch_ / "one/c.h");
  fs::rename(scratch_ / "all/b.h", scratch_ / "two/b.h");
  write_file(scratch_ / "two/c.h", "#define C 2\n");
  spec.include_dirs = {scratch_ / "one", scratch_ / "two"};
  EXPECT_EQ(origin_of(spec), Origin::compiled);
}

// It comes between what kiln reads and what the compiler reads, and goes before the next one asks.
TEST_F(Key, AHeaderThatAppearsWhileItIsCompiledIsNoticed) {
  ProgramSpec spec{.name = "late.cu",
                   .source =
                       "#if __has_include(<late.h>)\n#include <late.h>\n#else\n#define LATE 1\n"
                       "#endif\n__global__ void k(int* x) { *x = LATE; }",
                   .include_dirs = {scratch_ / "include"},
                   .kernels = {"k"}};
  fs::create_directories(scratch_ / "include");
  auto settings = options();
  settings.observer = [&](const Event& event) {
    if (event.kind == EventKind::compile_begin)
      write_file(scratch_ / "include/late.h", "#define LATE 2\n");
    if (event.kind == EventKind::not_stored) not_stored_.emplace_back(event.detail);
  };
  const auto artifact = Runtime::open(settings).value().compile(Program::make(spec).value(),
                                                                Target::parse("sm_80").value());
  ASSERT_TRUE(artifact) << artifact.error().log;
  EXPECT_TRUE(not_stored_.empty()) << "the key is of what the compiler was told";
  fs::remove(scratch_ / "include/late.h");
  const auto without = try_compile(spec).value();
  EXPECT_EQ(without.origin, Origin::compiled);
  EXPECT_NE(without.image, artifact->image);
  write_file(scratch_ / "include/late.h", "#define LATE 2\n");
  const auto again = try_compile(spec).value();
  EXPECT_EQ(again.origin, Origin::local);
  EXPECT_EQ(again.image, artifact->image);
}

// The second thread asks while the first compiles, and after that the header changes.
TEST_F(Key, OneThatWaitedIsNotServedWhatIsOlderThanItsHeaders) {
  const auto root = on_disk("include");
  const auto spec = with_directory(root);
  const auto target = Target::parse("sm_80").value();
  std::optional<Runtime> runtime;
  std::optional<Result<Artifact>> waited;
  std::thread waiter;
  auto settings = options();
  settings.observer = [&](const Event& event) {
    if (event.kind == EventKind::compile_begin && !waiter.joinable()) {
      waiter = std::thread([&] { waited = runtime->compile(Program::make(spec).value(), target); });
      // Until it waits; were it later, it would find the changed header by itself.
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    } else if (event.kind == EventKind::compile_end && !waited) {
      write_file(root / "lib/sub/nested.cuh", nested_changed);
    }
  };
  runtime = Runtime::open(settings).value();
  const auto first = runtime->compile(Program::make(spec).value(), target).value();
  waiter.join();
  ASSERT_TRUE(waited && *waited);
  EXPECT_NE((*waited)->image, first.image);
  EXPECT_EQ((*waited)->image, try_compile(spec)->image);
}

// Where a path reaches the output, the same text from elsewhere gives another image.
class PathKey : public Key {
 protected:
  void expect_bound_to_its_place(ProgramSpec spec) {
    const auto root = spec.include_dirs.front();
    EXPECT_EQ(origin_of(spec), Origin::compiled);
    EXPECT_EQ(origin_of(spec), Origin::local);
    fs::rename(root, scratch_ / "elsewhere");
    spec.include_dirs = {scratch_ / "elsewhere"};
    EXPECT_EQ(origin_of(spec), Origin::compiled);
  }
};

TEST_F(PathKey, FileMacroInAHeader) {
  const auto root = scratch_ / "include";
  write_file(root / "where.cuh", "__device__ inline const char* where() { return __FILE__; }\n");
  expect_bound_to_its_place(
      {.name = "p.cu",
       .source = "#include <where.cuh>\n__global__ void k(const char** x) { *x = where(); }",
       .include_dirs = {root},
       .kernels = {"k"}});
}

// No image shows these places: kernels, or whatever is evaluated while they are compiled, compute with them.
TEST_F(PathKey, WhatIsComputedWithAPath) {
  int number = 0;
  for (const char* text :
       {"__device__ inline int f(const char* s, int) { int n = 0; while (s[n]) ++n; return n; }\n"
        "__device__ inline int where() { return f(__FILE__, __LINE__); }\n",
        "__device__ constexpr int g(const char* s, int) { return s[5]; }\n#define f g\n"
        "__device__ inline int where() { return f(__FILE__, __LINE__); }\n",
        "__device__ inline int where() { auto f = [](const char* s, int) { return s[5]; };\n"
        "constexpr int x = f(__FILE__, __LINE__); return x; }\n",
        "struct F { __device__ constexpr int operator()(const char* s, int) const { return s[5]; } "
        "};\n"
        "__device__ inline int where() { constexpr F f; return f(__FILE__, __LINE__); }\n",
        "struct F { const char* s; int line; };\n"
        "__device__ inline int where() { return F{__FILE__, __LINE__}.s[5]; }\n"}) {
    const auto root = scratch_ / ("include" + std::to_string(++number));
    write_file(root / "where.cuh", text);
    expect_bound_to_its_place(
        {.name = "p.cu",
         .source = "#include <where.cuh>\n__global__ void k(int* x) { *x = where(); }",
         .include_dirs = {root},
         .kernels = {"k"}});
    fs::remove_all(scratch_ / "elsewhere");
  }
}

TEST_F(PathKey, WhatIsOnlyReportedBindsNothing) {
  const auto root = scratch_ / "include";
  write_file(
      root / "check.cuh",
      "#define CHECK(ok, ...) if (!(ok)) fail(0, ##__VA_ARGS__)\n"
      "template <class... T> __device__ inline void fail(int, T...) {}\n"
      "__device__ inline void use(int e) { CHECK(e == 0, \"(\", e, \") at \", __FILE__, \":\", "
      "__LINE__); }\n");
  ProgramSpec spec{.name = "p.cu",
                   .source = "#include <check.cuh>\n__global__ void k(int* x) { *x = 1; }",
                   .include_dirs = {root},
                   .kernels = {"k"}};
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  fs::rename(root, scratch_ / "elsewhere");
  spec.include_dirs = {scratch_ / "elsewhere"};
  EXPECT_EQ(origin_of(spec), Origin::local);
}

TEST_F(PathKey, FileMacroReachedThroughAnotherHeadersMacro) {
  const auto root = scratch_ / "include";
  write_file(root / "macro.cuh", "#define WHERE __FILE__\n");
  write_file(root / "use.cuh",
             "#include \"macro.cuh\"\n__device__ inline const char* where() { return WHERE; }\n");
  expect_bound_to_its_place(
      {.name = "p.cu",
       .source = "#include <use.cuh>\n__global__ void k(const char** x) { *x = where(); }",
       .include_dirs = {root},
       .kernels = {"k"}});
}

TEST_F(PathKey, AssertInAHeader) {
  const auto root = scratch_ / "include";
  write_file(root / "check.cuh", "__device__ inline void check(int x) { assert(x > 0); }\n");
  expect_bound_to_its_place(
      {.name = "p.cu",
       .source = "#include <check.cuh>\n__global__ void k(int x) { check(x); }",
       .include_dirs = {root},
       .kernels = {"k"}});
}

TEST_F(PathKey, FromAnEmbeddedSetOntoDisk) {
  const std::string text = "__device__ inline const char* where() { return __FILE__; }\n";
  ProgramSpec spec{
      .name = "p.cu",
      .source = "#include <where.cuh>\n__global__ void k(const char** x) { *x = where(); }",
      .headers = {HeaderSet::from_texts({{"where.cuh", text}})},
      .kernels = {"k"}};
  origin_of(spec);
  EXPECT_EQ(origin_of(spec), Origin::local);
  write_file(scratch_ / "include/where.cuh", text);
  spec.headers = {};
  spec.include_dirs = {scratch_ / "include"};
  EXPECT_EQ(origin_of(spec), Origin::compiled);
}

TEST_F(PathKey, FileMacroInAnOption) {
  const auto root = scratch_ / "include";
  write_file(root / "where.cuh", "__device__ inline const char* where() { return X; }\n");
  expect_bound_to_its_place(
      {.name = "p.cu",
       .source = "#include <where.cuh>\n__global__ void k(const char** x) { *x = where(); }",
       .include_dirs = {root},
       .kernels = {"k"},
       .options = {"-DX=__FILE__"}});
}

TEST_F(PathKey, LineInformation) {
  auto spec = with_directory(on_disk("include"));
  spec.options = {"-lineinfo"};
  expect_bound_to_its_place(spec);
}

TEST_F(PathKey, LineInformationHoldsTheWorkingDirectory) {
  auto spec = plain();
  spec.options = {"-lineinfo"};
  origin_of(spec);
  EXPECT_EQ(origin_of(spec), Origin::local);
  const auto before = fs::current_path();
  fs::current_path(scratch_.path());
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  fs::current_path(before);
}

TEST_F(PathKey, FileMacroInTheSourceIsNoPathOfTheMachine) {
  auto spec = plain();
  spec.source += "__device__ const char* where() { return __FILE__; }\n";
  origin_of(spec);
  fs::current_path(scratch_.path());
  EXPECT_EQ(origin_of(spec), Origin::local);
  fs::current_path("/");
}

}  // namespace
}  // namespace kiln::test
