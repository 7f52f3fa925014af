// What becomes of a miss.

#include <chrono>
#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile_fixture.h"
#include "support/child.h"

namespace kiln::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Modes : public CompileFixture {
 protected:
  static Program program(const std::string& option = "-DA=1") {
    return Program::make({.name = "fill.cu",
                          .source = "extern \"C\" __global__ void fill(int* x) { *x = A; }",
                          .kernels = {"fill"},
                          .options = {option}})
        .value();
  }

  Runtime open(Mode mode) {
    auto set_up = options();
    set_up.mode = mode;
    set_up.log = [this](LogLevel level, std::string_view line) {
      if (level == LogLevel::warn) warnings_.emplace_back(line);
    };
    return Runtime::open(std::move(set_up)).value();
  }

  const Target target_ = Target::parse("sm_80").value();
  std::vector<std::string> warnings_;
};

TEST_F(Modes, JitCompilesInSilence) {
  auto runtime = Runtime::open(options()).value();
  EXPECT_EQ(runtime.mode(), Mode::jit);
  EXPECT_EQ(runtime.compile(program(), target_)->origin, Origin::compiled);
  EXPECT_THAT(warnings_, testing::IsEmpty());
}

TEST_F(Modes, WarnCompilesAndSaysWhatAndWhy) {
  open(Mode::jit).compile(program("-DA=1"), target_).value();
  auto runtime = open(Mode::warn);
  EXPECT_EQ(runtime.compile(program("-DA=1"), target_)->origin, Origin::local);
  EXPECT_THAT(warnings_, testing::IsEmpty()) << "a hit is no reason to warn";
  EXPECT_EQ(runtime.compile(program("-DA=2"), target_)->origin, Origin::compiled);
  ASSERT_EQ(warnings_.size(), 1U);
  const auto request = runtime.explain(program("-DA=2"), target_).value().request;
  EXPECT_THAT(warnings_[0],
              AllOf(HasSubstr("compiling fill.cu for sm_80 (request " + request.hex()),
                    HasSubstr("nothing is stored for this request"),
                    HasSubstr("option 1: -DA=2, stored 1")));
}

TEST_F(Modes, CacheOnlyServesHits) {
  open(Mode::jit).compile(program(), target_).value();
  EXPECT_EQ(open(Mode::cache_only).compile(program(), target_)->origin, Origin::local);
}

TEST_F(Modes, CacheOnlyMakesAMissAnErrorThatNamesIt) {
  open(Mode::jit).compile(program("-DA=1"), target_).value();
  auto runtime = open(Mode::cache_only);
  const auto outcome = runtime.compile(program("-DA=64"), target_);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::not_cached);
  const auto explanation = runtime.explain(program("-DA=64"), target_).value();
  EXPECT_THAT(outcome.error().message,
              AllOf(HasSubstr(explanation.summary()), HasSubstr(explanation.request.hex()),
                    HasSubstr("fill.cu for sm_80"), HasSubstr("option 1: -DA=64, stored 1"),
                    HasSubstr("cache-only")));
  EXPECT_EQ(runtime.counters().compiles, 0U);
  EXPECT_EQ(runtime.counters().misses, 1U);
}

TEST_F(Modes, CacheOnlyHoldsForPrefetch) {
  open(Mode::jit).compile(program("-DA=1"), target_).value();
  auto runtime = open(Mode::cache_only);
  const auto report = runtime.prefetch({{program("-DA=1"), target_}, {program("-DA=2"), target_}});
  EXPECT_EQ(report.hits, 1U);
  EXPECT_EQ(report.compiled, 0U);
  ASSERT_EQ(report.failures.size(), 1U);
  EXPECT_EQ(report.failures[0].index, 1U);
  EXPECT_EQ(report.failures[0].error.code, ErrorCode::not_cached);
}

TEST_F(Modes, CacheOnlyMapsNoCompiler) {
  const bool mapped_before = has_nvrtc_mapped();
  EXPECT_EQ(run_in_child([&] {
              auto runtime = open(Mode::cache_only);
              EXPECT_FALSE(runtime.compile(program(), target_));
              EXPECT_EQ(has_nvrtc_mapped(), mapped_before);
              runtime.set_mode(Mode::jit);
              EXPECT_TRUE(runtime.compile(program(), target_));
              EXPECT_TRUE(has_nvrtc_mapped());
              return HasFailure();
            }),
            0);
}

TEST_F(Modes, AreSetWhileItRuns) {
  auto runtime = open(Mode::jit);
  runtime.compile(program("-DA=1"), target_).value();
  auto copy = runtime;
  copy.set_mode(Mode::cache_only);
  EXPECT_EQ(runtime.mode(), Mode::cache_only);
  EXPECT_EQ(runtime.compile(program("-DA=1"), target_)->origin, Origin::memory);
  EXPECT_EQ(runtime.compile(program("-DA=2"), target_).error().code, ErrorCode::not_cached);
  runtime.set_mode(Mode::warn);
  EXPECT_EQ(runtime.compile(program("-DA=2"), target_)->origin, Origin::compiled);
  EXPECT_EQ(warnings_.size(), 1U);
}

TEST_F(Modes, TheVariableIsTheDefault) {
  const ScopedVariable variable("KILN_MODE", "cache-only");
  auto set_up = options();
  EXPECT_EQ(Runtime::open(set_up).value().mode(), Mode::cache_only);
  set_up.mode = Mode::jit;
  EXPECT_EQ(Runtime::open(set_up).value().mode(), Mode::jit);
}

TEST_F(Modes, CacheOnlyWaitsForNobodysTurn) {
  auto impatient = options();
  impatient.mode = Mode::cache_only;
  impatient.compile_patience = std::chrono::milliseconds(500);
  auto second = Runtime::open(impatient).value();
  auto of_first = options();
  of_first.observer = [&](const Event& event) {
    if (event.kind != EventKind::compile_begin) return;
    EXPECT_EQ(second.compile(program(), target_).error().code, ErrorCode::not_cached);
  };
  auto first = Runtime::open(of_first).value();
  ASSERT_TRUE(first.compile(program(), target_));
  EXPECT_EQ(second.counters().misses, 1U);
  EXPECT_EQ(second.counters().waits, 0U);
}

// The first runtime has the turn and keeps nothing, so the second would compile; meanwhile it may not.
TEST_F(Modes, CacheOnlyHoldsAfterWaitingForAnothersTurn) {
  const auto timed =
      Program::make({.name = "timed.cu",
                     .source = "extern \"C\" __global__ void k(const char** x) { *x = __TIME__; }",
                     .kernels = {"k"}})
          .value();
  std::promise<void> missed;
  auto of_second = options();
  of_second.observer = [&](const Event& event) {
    if (event.kind == EventKind::miss) missed.set_value();
  };
  auto second = Runtime::open(of_second).value();
  std::future<Result<Artifact>> waiting;
  auto of_first = options();
  of_first.observer = [&](const Event& event) {
    if (event.kind != EventKind::compile_begin) return;
    waiting = std::async(std::launch::async, [&] { return second.compile(timed, target_); });
    missed.get_future().wait();
    // Until it waits for the turn; were it later, it would be refused without waiting.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    second.set_mode(Mode::cache_only);
  };
  auto first = Runtime::open(of_first).value();
  ASSERT_TRUE(first.compile(timed, target_));
  const auto outcome = waiting.get();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::not_cached);
  EXPECT_THAT(outcome.error().message, HasSubstr("what is compiled is not kept: /kiln/timed.cu"));
  EXPECT_EQ(second.counters().waits, 1U);
  EXPECT_EQ(second.counters().compiles, 0U);
}

}  // namespace
}  // namespace kiln::test
