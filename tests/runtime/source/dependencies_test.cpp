// The dependency table: what a program's compile really read is in its key, and nothing else.

#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "compile_fixture.h"
#include "kiln/cache.h"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

/// Where the headers of a row lie.
enum class HeaderPlace { embedded, on_disk, on_disk_for_a_worker };

class Dependencies : public CompileFixture, public ::testing::WithParamInterface<HeaderPlace> {
 protected:
  Dependencies() { compile_workers_ = GetParam() == HeaderPlace::on_disk_for_a_worker ? 1 : 0; }

  struct Header {
    std::string name;
    std::string text;
  };

  /// A program that includes "lib/top.cuh", among these headers.
  ProgramSpec program(const std::vector<Header>& headers) {
    ProgramSpec spec{.name = "dep.cu",
                     .source = "#include <lib/top.cuh>\n__global__ void k(int* x) { *x = VALUE; }",
                     .kernels = {"k"}};
    if (GetParam() == HeaderPlace::embedded) {
      std::vector<HeaderSet::NamedText> texts;
      for (const auto& header : headers) texts.push_back({header.name, header.text});
      spec.headers = {HeaderSet::from_texts(std::move(texts))};
    } else {
      fs::remove_all(folder());
      for (const auto& header : headers) write_file(folder() / header.name, header.text);
      fs::create_directories(folder());
      spec.include_dirs = {folder()};
    }
    return spec;
  }

  [[nodiscard]] fs::path folder() const { return scratch_ / "include"; }

  /// Compiles with the first headers, then asks with the second.
  Origin second_origin(const std::vector<Header>& before, const std::vector<Header>& after) {
    EXPECT_EQ(origin_of(program(before)), Origin::compiled);
    return origin_of(program(after));
  }

  /// What the entry of the only compile recorded, in order.
  std::vector<std::string> recorded() {
    std::vector<std::string> spellings;
    auto cache = Cache::open(cache_directory(), {.access = Cache::Access::read_only});
    const auto entries = cache->list().value();
    EXPECT_EQ(entries.size(), 1U);
    const auto entry = cache->entry(entries.at(0).key).value();
    for (const auto& lookup : entry.dependencies.lookups) spellings.push_back(lookup.spelling);
    return spellings;
  }
};

TEST_P(Dependencies, WhatIsReachedIsRead) {
  EXPECT_EQ(
      second_origin({{"lib/top.cuh", "#define VALUE 1\n"}}, {{"lib/top.cuh", "#define VALUE 2\n"}}),
      Origin::compiled);
}

TEST_P(Dependencies, WhatIsReachedThroughOthersIsRead) {
  EXPECT_EQ(second_origin({{"lib/top.cuh", "#include \"deep.cuh\"\n"},
                           {"lib/deep.cuh", "#include <far/end.cuh>\n"},
                           {"far/end.cuh", "#define VALUE 1\n"}},
                          {{"lib/top.cuh", "#include \"deep.cuh\"\n"},
                           {"lib/deep.cuh", "#include <far/end.cuh>\n"},
                           {"far/end.cuh", "#define VALUE 2\n"}}),
            Origin::compiled);
}

TEST_P(Dependencies, WhatNoConditionReachesIsNotRead) {
  const std::string top =
      "#define VALUE 1\n#if __CUDA_ARCH__ >= 900\n#include \"newer.cuh\"\n#endif\n"
      "#ifdef NEVER\n#include <lib/never.cuh>\n#endif\n";
  EXPECT_EQ(second_origin({{"lib/top.cuh", top},
                           {"lib/newer.cuh", "int one;\n"},
                           {"lib/never.cuh", "#include <lib/deeper.cuh>\n"},
                           {"lib/deeper.cuh", "one\n"}},
                          {{"lib/top.cuh", top},
                           {"lib/newer.cuh", "int two;\n"},
                           {"lib/never.cuh", "#include <lib/deeper.cuh>\n__DATE__"},
                           {"lib/deeper.cuh", "two\n"}}),
            Origin::local);
  EXPECT_EQ(recorded(), std::vector<std::string>{"lib/top.cuh"});
  EXPECT_TRUE(not_stored_.empty());
}

TEST_P(Dependencies, AnotherArchitectureReadsOthers) {
  const std::string top =
      "#define VALUE 1\n#if __CUDA_ARCH__ >= 900\n#include \"newer.cuh\"\n#endif\n";
  const std::vector<Header> headers{{"lib/top.cuh", top}, {"lib/newer.cuh", "// one\n"}};
  const std::vector<Header> changed{{"lib/top.cuh", top}, {"lib/newer.cuh", "// two\n"}};
  EXPECT_EQ(origin_of(program(headers), "sm_80"), Origin::compiled);
  EXPECT_EQ(origin_of(program(headers), "sm_90"), Origin::compiled);
  EXPECT_EQ(origin_of(program(changed), "sm_80"), Origin::local);
  EXPECT_EQ(origin_of(program(changed), "sm_90"), Origin::compiled);
}

TEST_P(Dependencies, WhatAMacroNamesIsRead) {
  const std::string top =
      "#define WANTED <lib/wanted.cuh>\n#if 0\n#define WANTED <lib/other.cuh>\n#endif\n"
      "#include WANTED\n";
  const std::vector<Header> headers{
      {"lib/top.cuh", top}, {"lib/wanted.cuh", "#define VALUE 1\n"}, {"lib/other.cuh", "one\n"}};
  auto other_changed = headers;
  other_changed[2].text = "two\n";
  auto wanted_changed = headers;
  wanted_changed[1].text = "#define VALUE 2\n";
  EXPECT_EQ(second_origin(headers, other_changed), Origin::local);
  EXPECT_EQ(origin_of(program(wanted_changed)), Origin::compiled);
}

TEST_P(Dependencies, WhatIsAskedForIsRead) {
  const std::string top =
      "#if __has_include(<lib/maybe.cuh>)\n#define VALUE 2\n#else\n#define VALUE 1\n#endif\n";
  EXPECT_EQ(second_origin({{"lib/top.cuh", top}}, {{"lib/top.cuh", top}}), Origin::local);
  EXPECT_EQ(origin_of(program({{"lib/top.cuh", top}, {"lib/maybe.cuh", "one\n"}})),
            Origin::compiled);
  EXPECT_EQ(origin_of(program({{"lib/top.cuh", top}, {"lib/maybe.cuh", "one\n"}})), Origin::local);
}

TEST_P(Dependencies, AHeaderThatIsIncludedAndGoneIsTrustedAtLast) {
  EXPECT_EQ(second_origin({{"lib/top.cuh", "#define VALUE 1\n"}}, {}), Origin::local);
}

TEST_P(Dependencies, AHeaderThatIsAskedForAndGoneIsADifference) {
  const std::string top =
      "#if __has_include(<lib/maybe.cuh>)\n#define VALUE 2\n#else\n#define VALUE 1\n#endif\n";
  EXPECT_EQ(
      second_origin({{"lib/top.cuh", top}, {"lib/maybe.cuh", "one\n"}}, {{"lib/top.cuh", top}}),
      Origin::compiled);
}

TEST_P(Dependencies, WhatTellsTheTimeCountsOnlyWhereItIsRead) {
  const std::string top = "#define VALUE 1\n#if 0\n#include \"clock.cuh\"\n#endif\n";
  const std::vector<Header> headers{{"lib/top.cuh", top},
                                    {"lib/clock.cuh", "#define NOW __TIME__\n"}};
  EXPECT_EQ(second_origin(headers, headers), Origin::local);
}

TEST_P(Dependencies, ThroughTwoDoorsOneOfThemShut) {
  // The first look-up of b.cuh stands in a header that is not read; its own includes are all the same.
  const std::string top = "#ifdef NEVER\n#include \"a.cuh\"\n#endif\n#include \"c.cuh\"\n";
  const std::vector<Header> headers{{"lib/top.cuh", top},
                                    {"lib/a.cuh", "#include \"b.cuh\"\n"},
                                    {"lib/c.cuh", "#include \"b.cuh\"\n"},
                                    {"lib/b.cuh", "#include \"d.cuh\"\n"},
                                    {"lib/d.cuh", "#define VALUE 1\n"}};
  auto changed = headers;
  changed[4].text = "#define VALUE 2\n";
  auto shut = headers;
  shut[1].text = "#include \"b.cuh\"\n// another\n";
  EXPECT_EQ(second_origin(headers, shut), Origin::local);
  EXPECT_EQ(recorded(), (std::vector<std::string>{"lib/top.cuh", "c.cuh", "b.cuh", "d.cuh"}));
  EXPECT_EQ(origin_of(program(changed)), Origin::compiled);
}

std::string name_of(const ::testing::TestParamInfo<HeaderPlace>& info) {
  return info.param == HeaderPlace::embedded  ? "Embedded"
         : info.param == HeaderPlace::on_disk ? "OnDisk"
                                              : "OnDiskForAWorker";
}

INSTANTIATE_TEST_SUITE_P(Places, Dependencies,
                         ::testing::Values(HeaderPlace::embedded, HeaderPlace::on_disk,
                                           HeaderPlace::on_disk_for_a_worker),
                         name_of);

class DependenciesOnDisk : public Dependencies {
 protected:
  /// Mends a header as the compile that met it broken ends, and compiles once more before that is told.
  template <class Compile>
  void expect_mended(const Compile& compile) {
    const auto spec = program({{"lib/top.cuh", "#define VALUE nonsense\n"}});
    const auto target = Target::parse("sm_80").value();
    std::optional<Runtime> runtime;
    std::optional<Result<Artifact>> mended;
    std::thread other;
    std::atomic<bool> is_mended = false;
    auto settings = options();
    settings.observer = [&](const Event& event) {
      if (event.kind != EventKind::compile_end || is_mended.exchange(true)) return;
      write_file(folder() / "lib/top.cuh", "#define VALUE 1\n");
      other = std::thread([&] { mended = compile(*runtime, Program::make(spec).value(), target); });
      // Until it has asked; the first compile's end is told meanwhile.
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    };
    runtime = Runtime::open(settings).value();
    const auto broken = compile(*runtime, Program::make(spec).value(), target);
    other.join();
    EXPECT_FALSE(broken);
    ASSERT_TRUE(mended);
    EXPECT_TRUE(*mended) << mended->error().log;
  }
};
INSTANTIATE_TEST_SUITE_P(Disk, DependenciesOnDisk,
                         ::testing::Values(HeaderPlace::on_disk, HeaderPlace::on_disk_for_a_worker),
                         name_of);

TEST_P(DependenciesOnDisk, AFolderOfAHeadersNameIsNone) {
  auto spec = program({{"lib/top.cuh", "#define VALUE 1\n"}});
  const auto first = scratch_ / "first";
  fs::create_directories(first / "lib/top.cuh");
  spec.include_dirs.insert(spec.include_dirs.begin(), first);
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  EXPECT_EQ(origin_of(spec), Origin::local);
  write_file(folder() / "lib/top.cuh", "#define VALUE 2\n");
  EXPECT_EQ(origin_of(spec), Origin::compiled);
}

// Of a program that fails NVRTC may have kept the headers by then.
TEST_P(DependenciesOnDisk, AFailureBetweenTwoProgramsOfOnePrelude) {
  const auto good = program({{"lib/top.cuh", "#define VALUE 1\n"}});
  auto bad = good;
  auto last = good;
  bad.name = "bad.cu";
  bad.source += "\nnonsense\n";
  last.name = "last.cu";
  const auto compile_all = [&] {
    auto runtime = Runtime::open(options()).value();
    std::vector<Origin> origins;
    for (const auto& spec : {good, bad, last}) {
      const auto artifact =
          runtime.compile(Program::make(spec).value(), Target::parse("sm_80").value());
      if (artifact) origins.push_back(artifact->origin);
    }
    return origins;
  };
  EXPECT_EQ(compile_all(), (std::vector{Origin::compiled, Origin::compiled}));
  EXPECT_EQ(compile_all(), (std::vector{Origin::local, Origin::local}));
  write_file(folder() / "lib/top.cuh", "#define VALUE 2\n");
  EXPECT_EQ(compile_all(), (std::vector{Origin::compiled, Origin::compiled}));
}

TEST_P(DependenciesOnDisk, AFileThatNewlyShadowsAnother) {
  auto spec = program({{"lib/top.cuh", "#define VALUE 1\n"}});
  const auto first = scratch_ / "first";
  fs::create_directories(first);
  spec.include_dirs.insert(spec.include_dirs.begin(), first);
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  EXPECT_EQ(origin_of(spec), Origin::local);
  write_file(first / "lib/top.cuh", "#define VALUE 2\n");
  EXPECT_EQ(origin_of(spec), Origin::compiled);
}

TEST_P(DependenciesOnDisk, AFolderWhoseNameIsNoUtf8) {
  auto spec = program({{"lib/top.cuh", "#define VALUE 1\n"}});
  const auto named = scratch_ / "caf\xE9";
  fs::rename(folder(), named);
  spec.include_dirs = {named};
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  EXPECT_EQ(origin_of(spec), Origin::local);
  write_file(named / "lib/top.cuh", "#define VALUE 2\n");
  EXPECT_EQ(origin_of(spec), Origin::compiled);
}

TEST_P(DependenciesOnDisk, AMovedTreeHits) {
  auto spec =
      program({{"lib/top.cuh", "#include \"deep.cuh\"\n"}, {"lib/deep.cuh", "#define VALUE 1\n"}});
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  fs::rename(folder(), scratch_ / "elsewhere");
  spec.include_dirs = {scratch_ / "elsewhere"};
  EXPECT_EQ(origin_of(spec), Origin::local);
}

TEST_P(DependenciesOnDisk, NewContentUnderAnOldTimeMisses) {
  const auto spec = program({{"lib/top.cuh", "#define VALUE 1\n"}});
  const auto file = folder() / "lib/top.cuh";
  const auto time = fs::last_write_time(file) - std::chrono::hours(1);
  fs::last_write_time(file, time);
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  write_file(file, "#define VALUE 2\n");
  fs::last_write_time(file, time);
  EXPECT_EQ(origin_of(spec), Origin::compiled);
}

TEST_P(DependenciesOnDisk, ANeighbourByARoundaboutWay) {
  const std::vector<Header> headers{{"lib/top.cuh", "#include \"../lib/sub/../deep.cuh\"\n"},
                                    {"lib/sub/other.cuh", "\n"},
                                    {"lib/deep.cuh", "#define VALUE 1\n"}};
  auto changed = headers;
  changed[2].text = "#define VALUE 2\n";
  EXPECT_EQ(second_origin(headers, headers), Origin::local);
  EXPECT_EQ(origin_of(program(changed)), Origin::compiled);
  EXPECT_TRUE(not_stored_.empty()) << not_stored_[0];
}

// Equal headers beside which others lie.
TEST_P(DependenciesOnDisk, AnEqualHeaderWithAnotherNeighbour) {
  auto spec = program({{"lib/top.cuh", "#include <one/a.h>\n#include <two/a.h>\n"},
                       {"one/a.h", "#include \"n.h\"\n"},
                       {"two/a.h", "#include \"n.h\"\n"},
                       {"one/n.h", "#undef VALUE\n#define VALUE 1\n"},
                       {"two/n.h", "#undef VALUE\n#define VALUE 1\n"}});
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  EXPECT_EQ(origin_of(spec), Origin::local);
  write_file(folder() / "two/n.h", "#undef VALUE\n#define VALUE 2\n");
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  const auto before = scratch_ / "before";
  write_file(before / "two/a.h", "#include \"n.h\"\n");
  write_file(before / "two/n.h", "#undef VALUE\n#define VALUE 3\n");
  spec.include_dirs.insert(spec.include_dirs.begin(), before);
  EXPECT_EQ(origin_of(spec), Origin::compiled) << "the first is equal, what it quotes is not";
}

// The fourth path of a header is scanned no more, and what it asks for was asked for by others.
TEST_P(DependenciesOnDisk, AHeaderOfManyPaths) {
  auto spec = program({{"lib/top.cuh",
                        "#include <p0/d.h>\n#include <p1/d.h>\n#include <p2/d.h>\n"
                        "#include <lib/n.h>\n#include <lib/d.h>\n"},
                       {"lib/d.h",
                        "#undef VALUE\n#if __has_include(\"n.h\")\n#define VALUE 1\n#else\n"
                        "#define VALUE 2\n#endif\n"},
                       {"lib/n.h", ""}});
  for (const auto* linked : {"p0", "p1", "p2"}) {
    fs::create_directory(folder() / linked);
    fs::create_symlink("../lib/d.h", folder() / linked / "d.h");
  }
  const auto earlier = scratch_ / "earlier";
  fs::create_directories(earlier / "lib");
  spec.include_dirs.insert(spec.include_dirs.begin(), earlier);
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  EXPECT_EQ(origin_of(spec), Origin::local);
  fs::rename(folder() / "lib/n.h", earlier / "lib/n.h");
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  EXPECT_TRUE(not_stored_.empty()) << not_stored_[0];
}

// By `#pragma once` a file is read once, under whichever names.
TEST_P(DependenciesOnDisk, AHeaderThatBecomesALinkOfAnotherAndIsOneNoMore) {
  const std::string counting =
      "#pragma once\n#ifdef ONE\n#define VALUE 2\n#else\n#define ONE\n#endif\n";
  const auto spec = program({{"lib/top.cuh",
                              "#include \"a.cuh\"\n#include \"b.cuh\"\n"
                              "#ifndef VALUE\n#define VALUE 1\n#endif\n"},
                             {"lib/a.cuh", counting},
                             {"lib/b.cuh", counting}});
  const auto two = try_compile(spec).value();
  EXPECT_EQ(origin_of(spec), Origin::local);
  fs::remove(folder() / "lib/b.cuh");
  fs::create_symlink("a.cuh", folder() / "lib/b.cuh");
  const auto one = try_compile(spec).value();
  EXPECT_EQ(one.origin, Origin::compiled);
  EXPECT_TRUE(one.image != two.image);
  EXPECT_NE(misses_.back().find("is one file with others no more"), std::string::npos)
      << misses_.back();
  EXPECT_EQ(origin_of(spec), Origin::local);
  fs::remove(folder() / "lib/b.cuh");
  write_file(folder() / "lib/b.cuh", counting);
  const auto again = try_compile(spec).value();
  EXPECT_EQ(again.origin, Origin::local);
  EXPECT_TRUE(again.image == two.image);
}

// What a path leads to that goes through a link and back, the system says and not its letters.
TEST_P(DependenciesOnDisk, ADirectoryBeyondALink) {
  write_file(scratch_ / "real/inc/lib/top.cuh", "#define VALUE 2\n");
  fs::create_directories(scratch_ / "real/deep");
  fs::create_directory_symlink(scratch_ / "real/deep", scratch_ / "link");
  auto spec = program({{"lib/top.cuh", "#define VALUE 1\n"}});
  fs::rename(folder(), scratch_ / "inc");
  spec.include_dirs = {scratch_ / "inc"};
  const auto near = try_compile(spec).value();
  spec.include_dirs = {scratch_ / "link/../inc"};
  const auto beyond = try_compile(spec).value();
  EXPECT_EQ(beyond.origin, Origin::compiled);
  EXPECT_TRUE(beyond.image != near.image);
  spec.include_dirs = {scratch_ / "real/inc"};
  const auto real = try_compile(spec).value();
  EXPECT_EQ(real.origin, Origin::local);
  EXPECT_TRUE(real.image == beyond.image);
}

// One asks after the header was mended, while the other still compiles the broken one.
TEST_P(DependenciesOnDisk, AFailureIsNotSharedWithWhatWasMended) {
  const auto compile = [](Runtime& runtime, const Program& program, const Target& target) {
    return runtime.compile(program, target);
  };
  expect_mended(compile);
}

TEST_P(DependenciesOnDisk, NorIsOneThatNobodyWaitsFor) {
  const auto compile = [](Runtime& runtime, const Program& program, const Target& target) {
    return runtime.compile_async(program, target).get();
  };
  expect_mended(compile);
}

// Line information holds the time of each header.
TEST_P(DependenciesOnDisk, WithLineInformationATimeCounts) {
  auto spec = program({{"lib/top.cuh", "#define VALUE 1\n"}});
  const auto touch = [&] {
    const auto file = folder() / "lib/top.cuh";
    fs::last_write_time(file, fs::last_write_time(file) - std::chrono::hours(1));
  };
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  touch();
  EXPECT_EQ(origin_of(spec), Origin::local);
  spec.options = {"-lineinfo"};
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  EXPECT_EQ(origin_of(spec), Origin::local);
  touch();
  EXPECT_EQ(origin_of(spec), Origin::compiled);
}

TEST_P(DependenciesOnDisk, AWorkersKeyIsThatOfACompileInThisProcess) {
  const auto plain = program({{"lib/top.cuh",
                               "#include \"deep.cuh\"\n#if __has_include(<none.h>)\n#endif\n"
                               "#define NAME(x) <x>\n#include NAME(lib/more.cuh)\n"},
                              {"lib/deep.cuh", "#pragma once\n#define VALUE 1\n"},
                              {"lib/more.cuh", "#include \"../lib/deep.cuh\"\n"}});
  for (const auto& options : {std::vector<std::string>{}, {"-lineinfo"}, {"-G"}}) {
    auto spec = plain;
    spec.options = options;
    compile_workers_ = 0;
    const auto here = try_compile(spec).value();
    fs::remove_all(cache_directory());
    compile_workers_ = 1;
    const auto there = try_compile(spec).value();
    EXPECT_EQ(there.origin, Origin::compiled);
    EXPECT_EQ(there.key, here.key);
    EXPECT_TRUE(there.image == here.image);
  }
}

}  // namespace
}  // namespace kiln::test
