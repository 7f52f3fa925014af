// What is written down of a compile, by a cache or by KILN_RECORD, and what can be made of it elsewhere.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile_fixture.h"
#include "manifest/recorded_headers.h"
#include "support/child.h"

namespace kiln::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto of_source = Dependency::source_parent;
constexpr auto of_nobody = Dependency::no_parent;

DependencySet looked_up(std::vector<Dependency> lookups) { return {.lookups = std::move(lookups)}; }
Dependency lookup(std::string spelling, std::uint32_t parent, std::string_view text) {
  return {.spelling = std::move(spelling),
          .parent = parent,
          .beside = parent < Dependency::at_place,
          .content = text.empty() ? Digest{} : digest_of(text)};
}

TEST(RecordedNames, KeepTheTreesShape) {
  auto set = looked_up({lookup("engine/attn.cuh", of_nobody, "a"), lookup("detail/x.h", 0, "x"),
                        lookup("../vec.cuh", 1, "v"), lookup("engine/vec.cuh", of_nobody, "v"),
                        lookup("root.h", 1, "r"), lookup("root.h", of_source, "r"),
                        lookup("none.h", 0, "")});
  set.lookups[4].beside = false;
  const auto named = name_headers(set);
  ASSERT_TRUE(named) << named.error().message;
  const NamedHeaders expected{{"engine/attn.cuh", digest_of("a")},
                              {"engine/detail/x.h", digest_of("x")},
                              {"engine/vec.cuh", digest_of("v")},
                              {"root.h", digest_of("r")},
                              {"none.h", {}}};
  EXPECT_EQ(*named, expected);
  EXPECT_TRUE(holds(set, *named));
}

TEST(RecordedNames, TakeASpellingForWholeThatWasFoundInADirectory) {
  auto set = looked_up({lookup("e/x.cuh", of_nobody, "x"), lookup("e/y.cuh", 0, "y")});
  set.lookups[1].beside = false;
  const auto named = name_headers(set);
  ASSERT_TRUE(named) << named.error().message;
  EXPECT_EQ(*named, (NamedHeaders{{"e/x.cuh", digest_of("x")}, {"e/y.cuh", digest_of("y")}}));
}

TEST(RecordedNames, OfPlacesAreWhatStandsBelowTheDirectory) {
  const auto at = Dependency::at_place;
  auto set = looked_up(
      {lookup("0/e/x.cuh", at, ""), lookup("1/e/x.cuh", at, "x"), lookup("-/none.h", at, "")});
  const auto named = name_headers(set);
  ASSERT_TRUE(named) << named.error().message;
  EXPECT_EQ(*named, (NamedHeaders{{"e/x.cuh", digest_of("x")}, {"none.h", {}}}));
}

TEST(RecordedNames, TellTwoHeadersOfOneSpellingApartByTheirParents) {
  const auto set = looked_up({lookup("a/x.h", of_nobody, "ax"), lookup("info.h", 0, "ai"),
                              lookup("b/x.h", of_nobody, "bx"), lookup("info.h", 2, "bi")});
  const auto named = name_headers(set);
  ASSERT_TRUE(named) << named.error().message;
  EXPECT_EQ(named->at("a/info.h"), digest_of("ai"));
  EXPECT_EQ(named->at("b/info.h"), digest_of("bi"));
}

TEST(RecordedNames, AreRefusedWhereTheRecordCannotTell) {
  // On disk, the source's own folder might have held one and an include directory the other.
  const auto set = looked_up({lookup("x.h", of_nobody, "one"), lookup("x.h", of_source, "other")});
  const auto named = name_headers(set);
  ASSERT_FALSE(named);
  EXPECT_EQ(named.error().code, ErrorCode::header_not_found);
  EXPECT_THAT(named.error().message, HasSubstr("x.h"));
}

TEST(RecordedNames, ContradictWhatHasOtherContent) {
  NamedHeaders headers{{"a.h", digest_of("1")}};
  EXPECT_FALSE(merge(headers, {{"a.h", digest_of("2")}, {"b.h", digest_of("b")}}));
  EXPECT_EQ(headers.size(), 1u);
  EXPECT_TRUE(merge(headers, {{"a.h", digest_of("1")}, {"b.h", digest_of("b")}}));
  EXPECT_EQ(headers.size(), 2u);
}

/// An engine with headers on disk that quote each other across folders.
class Record : public CompileFixture {
 protected:
  Record() {
    write_file(scratch_ / "include/engine/attn.cuh",
               "#pragma once\n#include \"detail/tile.cuh\"\n#include \"vec.cuh\"\n#include "
               "<cuda_fp16.h>\n");
    write_file(scratch_ / "include/engine/detail/tile.cuh",
               "#pragma once\n#include \"../vec.cuh\"\n#define TILE 16\n");
    write_file(scratch_ / "include/engine/vec.cuh", "#pragma once\nstruct Vec { float x, y; };\n");
  }

  ProgramSpec engine() const {
    return {.name = "attn.cu",
            .source =
                "#include <engine/attn.cuh>\n"
                "__global__ void k(Vec* v, __half* h) { v->x = TILE; h[0] = h[1]; }",
            .include_dirs = {scratch_ / "include"},
            .kernels = {"k"},
            .options = {"-DUNUSED=1"}};
  }

  static ProgramSpec plain(int number) {
    const auto text = std::to_string(number);
    return {.name = "p" + text + ".cu",
            .source = "__global__ void k(int* x) { *x = " + text + "; }",
            .kernels = {"k"}};
  }

  [[nodiscard]] std::filesystem::path record() const { return scratch_ / "record.json"; }

  /// Asks for a program while everything is written down.
  Result<Artifact> ask(ProgramSpec spec, const std::string& arch = "sm_80") {
    auto runtime = recording();
    return ask(runtime, std::move(spec), arch);
  }

  Runtime recording() {
    auto options = this->options();
    options.record = record();
    options.log = [this](LogLevel, std::string_view line) { said_.emplace_back(line); };
    return Runtime::open(std::move(options)).value();
  }

  static Result<Artifact> ask(Runtime& runtime, ProgramSpec spec,
                              const std::string& arch = "sm_80") {
    return runtime.compile(Program::make(std::move(spec)).value(), Target::parse(arch).value());
  }

  /// Has what was written down compiled, for this architecture and into another cache.
  Digest prewarm(const std::vector<ListedProgram>& listing, const std::string& arch) {
    auto runtime = Runtime::open({.cache_directory = scratch_ / "elsewhere"}).value();
    Digest key;
    for (const auto& listed : listing) {
      const auto program = runtime.program_of(listed);
      EXPECT_TRUE(program) << program.error().message;
      const auto made = runtime.compile(*program, Target::parse(arch).value());
      EXPECT_TRUE(made) << made.error().message << made.error().log;
      key = made->key;
    }
    return key;
  }

  /// What the engine itself is served there, without compiling.
  Result<Artifact> serve(ProgramSpec spec, const std::string& arch) {
    auto runtime = Runtime::open({.cache_directory = scratch_ / "elsewhere"}).value();
    auto served =
        runtime.compile(Program::make(std::move(spec)).value(), Target::parse(arch).value());
    EXPECT_EQ(runtime.counters().compiles, 0u);
    EXPECT_EQ(runtime.counters().misses, 0u);
    return served;
  }

  std::vector<std::string> said_;
};

TEST_F(Record, OfACacheMakesWhatTheEngineAsksFor) {
  ASSERT_TRUE(try_compile(engine()));
  auto cache = Cache::open(cache_directory(), {.access = Cache::Access::read_only}).value();
  const auto recorded = recorded_programs(cache);
  ASSERT_TRUE(recorded) << recorded.error().message;
  EXPECT_THAT(recorded->failures, IsEmpty());
  ASSERT_EQ(recorded->programs.size(), 1u);
  const auto key = prewarm(recorded->programs, "sm_90");
  const auto served = serve(engine(), "sm_90");
  ASSERT_TRUE(served) << served.error().message;
  EXPECT_EQ(served->origin, Origin::local);
  EXPECT_EQ(served->key, key);
}

TEST_F(Record, OfARunMakesWhatTheEngineAsksFor) {
  ASSERT_TRUE(ask(engine()));
  EXPECT_THAT(said_, IsEmpty());
  const auto listing = read_manifest(record());
  ASSERT_TRUE(listing) << listing.error().message;
  ASSERT_EQ(listing->size(), 1u);
  std::filesystem::rename(scratch_ / "include", scratch_ / "away");
  const auto key = prewarm(*listing, "sm_90");
  std::filesystem::rename(scratch_ / "away", scratch_ / "include");
  const auto served = serve(engine(), "sm_90");
  ASSERT_TRUE(served) << served.error().message;
  EXPECT_EQ(served->origin, Origin::local);
  EXPECT_EQ(served->key, key);
}

// What a macro names, an embedded header looks for elsewhere than a file: prewarming lays files out.
TEST_F(Record, OfAHeaderThatFindsItsNeighbourAsAFile) {
  write_file(scratch_ / "include/engine/attn.cuh", "#pragma once\n#include TILES\n");
  write_file(scratch_ / "include/tile.cuh", "#define TILE 32\n");
  write_file(scratch_ / "include/engine/tile.cuh", "#define TILE 16\n");
  auto spec = engine();
  spec.source =
      "#define TILES \"tile.cuh\"\n#include <engine/attn.cuh>\n"
      "__global__ void k(int* x) { *x = TILE; }";
  ASSERT_TRUE(ask(spec));
  auto cache = Cache::open(cache_directory(), {.access = Cache::Access::read_only}).value();
  const auto of_cache = recorded_programs(cache);
  const auto of_run = read_manifest(record());
  ASSERT_TRUE(of_cache && of_run);
  std::filesystem::rename(scratch_ / "include", scratch_ / "away");
  const auto in_cache = prewarm(of_cache->programs, "sm_90");
  const auto in_run = prewarm(*of_run, "sm_86");
  std::filesystem::rename(scratch_ / "away", scratch_ / "include");
  for (const auto& [arch, key] : {std::pair("sm_90", in_cache), std::pair("sm_86", in_run)}) {
    const auto served = serve(spec, arch);
    ASSERT_TRUE(served) << served.error().message;
    EXPECT_EQ(served->origin, Origin::local);
    EXPECT_EQ(served->key, key);
  }
}

// What was stored for an engine's name serves nobody else, so a prewarm has to be for that name.
TEST_F(Record, SaysWhichEngineAsked) {
  auto spec = engine();
  spec.engine = "acme 2.1";
  ASSERT_TRUE(ask(spec));
  const auto listing = read_manifest(record()).value();
  ASSERT_EQ(listing.size(), 1U);
  EXPECT_EQ(listing[0].spec.engine, "acme 2.1");
  prewarm(listing, "sm_90");
  auto runtime =
      Runtime::open({.cache_directory = scratch_ / "elsewhere", .engine = "acme 2.1"}).value();
  const auto target = Target::parse("sm_90").value();
  EXPECT_EQ(runtime.compile(Program::make(engine()).value(), target)->origin, Origin::local);
  auto of_none = Runtime::open({.cache_directory = scratch_ / "elsewhere"}).value();
  EXPECT_EQ(of_none.compile(Program::make(engine()).value(), target)->origin, Origin::compiled);
}

TEST_F(Record, HasHeadersThatOnlyTheCacheStillKnows) {
  ASSERT_TRUE(try_compile(engine()));
  std::filesystem::remove_all(scratch_ / "include");
  const auto hit = ask(engine());
  ASSERT_TRUE(hit) << hit.error().message;
  ASSERT_EQ(hit->origin, Origin::local) << "on trust";
  const auto listing = read_manifest(record());
  ASSERT_TRUE(listing) << listing.error().message;
  prewarm(*listing, "sm_90");
}

TEST_F(Record, HoldsEachRequestOnceHitsAndFailuresToo) {
  ASSERT_TRUE(try_compile(plain(1)));
  auto broken = plain(2);
  broken.source = "no CUDA";
  EXPECT_EQ(ask(plain(1))->origin, Origin::local);
  EXPECT_FALSE(ask(std::move(broken)));
  ASSERT_TRUE(ask(plain(1)));
  ASSERT_TRUE(ask(plain(1), "sm_90"));
  const auto listing = read_manifest(record());
  ASSERT_TRUE(listing) << listing.error().message;
  ASSERT_EQ(listing->size(), 2u);
  EXPECT_EQ(listing->at(0).targets.size(), 2u);
  const auto text = read_file(record());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
}

TEST_F(Record, IsSharedByProcesses) {
  constexpr int processes = 6;
  constexpr int programs = 8;
  // All are hits, so that nothing but the record keeps the processes apart; and long ones to write.
  const auto large = [](int number) {
    auto spec = plain(number);
    spec.source = "#include <large.h>\n" + spec.source;
    spec.headers = {HeaderSet::from_texts(
        {{"large.h", "//" + std::string(150'000, static_cast<char>('a' + number)) + '\n'}})};
    return spec;
  };
  for (int number = 0; number < programs; ++number) ASSERT_TRUE(try_compile(large(number)));
  int gate[2];
  ASSERT_EQ(::pipe(gate), 0);
  std::vector<pid_t> children;
  for (int process = 0; process < processes; ++process) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(gate[1]);
      char nothing = 0;
      int wrong = ::read(gate[0], &nothing, 1) != 0;
      auto runtime = recording();
      for (int number = 0; number < programs; ++number) wrong += !ask(runtime, large(number));
      ::_exit(wrong);
    }
    children.push_back(child);
  }
  ::close(gate[0]);
  ::close(gate[1]);
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  const auto listing = read_manifest(record());
  ASSERT_TRUE(listing) << listing.error().message;
  EXPECT_EQ(listing->size(), static_cast<std::size_t>(programs));
  const auto text = read_file(record());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), programs) << "none twice";
}

TEST_F(Record, MendsALineThatAKilledProcessLeft) {
  ASSERT_TRUE(ask(plain(1)));
  const auto whole = read_file(record());
  write_file(record(), whole + whole.substr(0, whole.size() / 2));
  ASSERT_TRUE(ask(plain(2)));
  EXPECT_THAT(said_, IsEmpty());
  const auto listing = read_manifest(record());
  ASSERT_TRUE(listing) << listing.error().message;
  EXPECT_EQ(listing->size(), 2u);
}

TEST_F(Record, LeavesOtherFilesAlone) {
  const std::string others[] = {"mine", R"({"kiln_manifest":1,"programs":[]})", "{}\n",
                                "{\n \"kiln_manifest\": 1,\n \"programs\": []\n}\n"};
  int number = 0;
  for (const auto& text : others) {
    said_.clear();
    write_file(record(), text);
    EXPECT_TRUE(ask(plain(++number)));
    EXPECT_EQ(read_file(record()), text);
    ASSERT_EQ(said_.size(), 1u);
    EXPECT_THAT(said_[0], HasSubstr("record.json"));
  }
}

TEST_F(Record, ThatNestsDeeplyIsLeftAlone) {
  const auto text = R"({"kiln_manifest":1,"programs":[)" + std::string(200'000, '[') +
                    std::string(200'000, ']') + "]}\n";
  write_file(record(), text);
  EXPECT_EQ(run_in_child([&] { return ask(plain(1)) ? 0 : 1; }), 0);
  EXPECT_EQ(read_file(record()), text);
}

TEST_F(Record, OfAnotherUserIsLeftAlone) {
  constexpr uid_t another_user = 65534;
  write_file(record(), "");
  if (::chown(record().c_str(), another_user, another_user) != 0)
    GTEST_SKIP() << "no right to give a file to another user";
  EXPECT_TRUE(ask(plain(1)));
  EXPECT_EQ(read_file(record()), "");
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_THAT(said_[0], HasSubstr("belongs to another user"));
}

TEST_F(Record, ThatCannotBeWrittenFailsNothingAndIsToldOfOnce) {
  auto options = this->options();
  options.record = scratch_ / "no/such/folder/record.json";
  options.log = [this](LogLevel, std::string_view line) { said_.emplace_back(line); };
  auto runtime = Runtime::open(std::move(options)).value();
  for (int number = 0; number < 3; ++number) {
    EXPECT_TRUE(
        runtime.compile(Program::make(plain(number)).value(), Target::parse("sm_80").value()));
  }
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_THAT(said_[0], testing::AllOf(HasSubstr("record.json"), HasSubstr("make that first")));
}

TEST_F(Record, HoldsTextsThatAreNotUtf8) {
  write_file(scratch_ / "include/latin.h", "// \xe9t\xe9\n#define LATIN 1\n");
  auto spec = plain(1);
  spec.source = "#include <latin.h>\n__global__ void k(int* x) { *x = LATIN; }";
  spec.include_dirs = {scratch_ / "include"};
  ASSERT_TRUE(ask(spec));
  EXPECT_THAT(said_, IsEmpty());
  const auto listing = read_manifest(record());
  ASSERT_TRUE(listing) << listing.error().message;
  prewarm(*listing, "sm_90");
  EXPECT_TRUE(serve(spec, "sm_90"));
}

TEST_F(Record, NeverMixesTwoToolkits) {
  // As an engine does that ships a toolkit of its own: its header is not this toolkit's.
  write_file(scratch_ / "include/cuda_fp16.h", "struct __half { int own; };\n");
  ASSERT_TRUE(ask(engine()));
  const auto listing = read_manifest(record());
  ASSERT_TRUE(listing) << listing.error().message;
  auto runtime = Runtime::open(options()).value();
  const auto program = runtime.program_of(listing->at(0));
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_FALSE(program->toolkit_headers());
  prewarm(*listing, "sm_90");
  EXPECT_TRUE(serve(engine(), "sm_90"));
}

TEST_F(Record, RefusesWhatWouldHoldAnotherMachinesPath) {
  auto spec = engine();
  spec.options = {"-lineinfo"};
  ASSERT_TRUE(try_compile(spec));
  auto cache = Cache::open(cache_directory(), {.access = Cache::Access::read_only}).value();
  const auto recorded = recorded_programs(cache).value();
  ASSERT_EQ(recorded.programs.size(), 1u);
  auto runtime = Runtime::open(options()).value();
  // Where they lie as they did they are taken from there.
  const auto here = runtime.program_of(recorded.programs[0]);
  ASSERT_TRUE(here) << here.error().message;
  EXPECT_EQ(here->include_dirs(), spec.include_dirs);
  std::filesystem::rename(scratch_ / "include", scratch_ / "elsewhere");
  const auto program = runtime.program_of(recorded.programs[0]);
  ASSERT_FALSE(program);
  EXPECT_THAT(program.error().message, HasSubstr("include/engine/"));
}

TEST_F(Record, OfACacheJoinsEntriesThatDoNotContradictEachOther) {
  auto spec = plain(1);
  spec.source = "#include <size.h>\n__global__ void k(int* x) { *x = SIZE; }";
  spec.include_dirs = {scratch_ / "include"};
  write_file(scratch_ / "include/size.h", "#define SIZE 1\n");
  ASSERT_TRUE(try_compile(spec, "sm_80"));
  ASSERT_TRUE(try_compile(spec, "sm_90"));
  write_file(scratch_ / "include/size.h", "#define SIZE 22\n");
  ASSERT_TRUE(try_compile(spec, "sm_80"));
  auto cache = Cache::open(cache_directory(), {.access = Cache::Access::read_only}).value();
  const auto recorded = recorded_programs(cache).value();
  ASSERT_EQ(recorded.programs.size(), 2u) << "one for each content of size.h";
  EXPECT_EQ(recorded.programs[0].targets.size() + recorded.programs[1].targets.size(), 3u);
}

}  // namespace
}  // namespace kiln::test
