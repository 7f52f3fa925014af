// Sources that a word stands for, and that are made on a miss alone.

#include <atomic>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile_fixture.h"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class SourceOnDemand : public CompileFixture {
 protected:
  static std::string source(int value) {
    return "extern \"C\" __global__ void k(int* x) { *x = " + std::to_string(value) + "; }";
  }

  ProgramSpec spec(const std::string& word, int value = 1) {
    return {.name = "made.cu", .kernels = {"k"}, .source_word = word, .make_source = [this, value] {
              ++calls_;
              return source(value);
            }};
  }

  std::atomic<int> calls_ = 0;
};

TEST_F(SourceOnDemand, IsMadeOnAMissAlone) {
  EXPECT_EQ(origin_of(spec("1")), Origin::compiled);
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(origin_of(spec("1")), Origin::local);
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(origin_of(spec("2")), Origin::compiled) << "another word is another source";
  EXPECT_EQ(calls_, 2);
}

TEST_F(SourceOnDemand, IsMadeOnceForAllThatAskOfAProgram) {
  const auto program = Program::make(spec("1")).value();
  auto runtime = Runtime::open(options()).value();
  std::vector<std::thread> threads;
  std::atomic<int> failed = 0;
  for (const auto* arch : {"sm_80", "sm_90", "sm_80", "sm_90"}) {
    threads.emplace_back([&, arch] {
      if (!runtime.compile(program, arch)) ++failed;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(calls_, 1);
}

TEST_F(SourceOnDemand, GivesTheImageOfItsText) {
  const auto made = try_compile(spec("1", 7)).value();
  const auto plain =
      try_compile({.name = "made.cu", .source = source(7), .kernels = {"k"}, .source_word = "1"})
          .value();
  EXPECT_EQ(plain.origin, Origin::local) << "a text may have a word too";
  EXPECT_EQ(plain.image, made.image);
  EXPECT_EQ(plain.source_text, digest_of(source(7)));
  EXPECT_EQ(origin_of({.name = "made.cu", .source = source(7), .kernels = {"k"}}), Origin::compiled)
      << "a text without one is another request";
}

TEST_F(SourceOnDemand, IsNoTextThatSaysTheWord) {
  EXPECT_EQ(origin_of(spec("// 1\n")), Origin::compiled);
  EXPECT_NE(Program::make(spec("// 1\n"))->source_digest(), digest_of("// 1\n"));
}

TEST_F(SourceOnDemand, IsNotInTheCache) {
  ASSERT_TRUE(try_compile(spec("1", 424'242)));
  for (const auto& file : fs::directory_iterator(cache_directory()))
    EXPECT_THAT(read_file(file.path()), Not(HasSubstr("424242")));
}

TEST_F(SourceOnDemand, IsNotMadeWhereNothingIsCompiled) {
  EXPECT_EQ(origin_of(spec("1")), Origin::compiled);
  auto settings = options();
  settings.mode = Mode::cache_only;
  auto runtime = Runtime::open(settings).value();
  const auto absent = runtime.compile(Program::make(spec("2")).value(), "sm_80");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::not_cached);
  EXPECT_THAT(absent.error().message, HasSubstr("source")) << "what the nearest one has otherwise";
  const auto told = runtime.explain(Program::make(spec("3")).value(), "sm_80").value();
  EXPECT_FALSE(told.hit);
  EXPECT_TRUE(told.nearest);
  EXPECT_EQ(calls_, 1);
}

TEST_F(SourceOnDemand, IsNotMadeForAPrefetchOfWhatIsThere) {
  ASSERT_EQ(origin_of(spec("1")), Origin::compiled);
  const auto program = Program::make(spec("1")).value();
  auto runtime = Runtime::open(options()).value();
  const auto report = runtime.prefetch({{program, "sm_80"}});
  EXPECT_EQ(report.hits, 1U);
  EXPECT_EQ(calls_, 1);
  EXPECT_FALSE(program.has_source());
}

TEST_F(SourceOnDemand, ThatCannotBeMadeFailsTheCompileAlone) {
  auto broken = spec("1");
  broken.make_source = []() -> std::string { throw std::runtime_error("no template for half"); };
  const auto error = try_compile(broken).error();
  EXPECT_EQ(error.code, ErrorCode::invalid_argument);
  EXPECT_THAT(error.message, AllOf(HasSubstr("made.cu"), HasSubstr("no template for half")));
  broken.make_source = [] { return std::string("int x;\0", 7); };
  EXPECT_THAT(try_compile(broken).error().message, HasSubstr("NUL"));
  EXPECT_EQ(origin_of(spec("1")), Origin::compiled);
}

TEST_F(SourceOnDemand, NeedsAWordAndNoText) {
  auto wordless = spec("");
  EXPECT_THAT(Program::make(wordless).error().message, HasSubstr("source_word"));
  auto both = spec("1");
  both.source = source(1);
  EXPECT_THAT(Program::make(both).error().message, HasSubstr("not both"));
}

TEST_F(SourceOnDemand, MayBeThatOfVariants) {
  auto various = spec("1");
  various.variants = {{.name = "ampere", .since = "sm_80", .source = source(2)},
                      {.name = "hopper", .since = "sm_90", .options = {{"-DHOPPER"}}}};
  const auto program = Program::make(various).value();
  auto runtime = Runtime::open(options()).value();
  ASSERT_TRUE(runtime.compile(program, "sm_80"));
  EXPECT_EQ(calls_, 0) << "a variant with its own text";
  ASSERT_TRUE(runtime.compile(program, "sm_90"));
  EXPECT_EQ(calls_, 1);
}

TEST_F(SourceOnDemand, AWordThatStandsForTwoIsFoundOut) {
  ASSERT_EQ(origin_of(spec("1", 1)), Origin::compiled);
  EXPECT_EQ(origin_of(spec("1", 2)), Origin::local) << "nobody looked";
  auto checking = options();
  checking.check_sources = true;
  auto runtime = Runtime::open(checking).value();
  EXPECT_TRUE(runtime.compile(Program::make(spec("1", 1)).value(), "sm_80"));
  const auto lie = Program::make(spec("1", 2)).value();
  const auto error = runtime.compile(lie, "sm_80").error();
  EXPECT_EQ(error.code, ErrorCode::invalid_argument);
  EXPECT_THAT(error.message, AllOf(HasSubstr("made.cu"), HasSubstr("'1'"), HasSubstr("sm_80")));
  EXPECT_EQ(runtime.compile_async(lie, "sm_80").get().error().code, ErrorCode::invalid_argument);
}

TEST_F(SourceOnDemand, OfARecordIsPrewarmedForTheWord) {
  auto recording = options();
  recording.record = scratch_ / "record.json";
  {
    auto runtime = Runtime::open(recording).value();
    ASSERT_TRUE(runtime.compile(Program::make(spec("1")).value(), "sm_80"));
  }
  const auto listed = read_manifest(*recording.record).value();
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].spec.source_word, "1");
  fs::remove_all(cache_directory());
  {
    auto runtime = Runtime::open(options()).value();
    const auto program = runtime.program_of(listed[0]).value();
    ASSERT_TRUE(runtime.compile(program, listed[0].targets.front()));
  }
  EXPECT_EQ(origin_of(spec("1")), Origin::local);
  EXPECT_EQ(calls_, 1);
}

}  // namespace
}  // namespace kiln::test
