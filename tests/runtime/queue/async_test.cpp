// Compiles that are not waited for: their order, who shares them, how they end.

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async_fixture.h"

namespace kiln::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Async : public AsyncFixture {
 protected:
  /// Is compiled, and stays so until the gate is opened.
  Compiling occupy(Runtime& runtime) {
    gate_.hold("first.cu");
    auto first = runtime.compile_async(plain("first.cu"), target());
    EXPECT_TRUE(gate_.wait_for_begun(1));
    return first;
  }
};

TEST_F(Async, WhatItComesToIsWhatACompileGives) {
  auto runtime = open();
  const auto compiling = runtime.compile_async(plain("a.cu"), target());
  const auto artifact = compiling.get();
  ASSERT_TRUE(artifact) << artifact.error().message;
  EXPECT_EQ(artifact->origin, Origin::compiled);
  EXPECT_TRUE(compiling.ready());
  EXPECT_TRUE(compiling.succeeded());
  EXPECT_EQ(compiling.get()->image, artifact->image);
  EXPECT_EQ(runtime.compile(plain("a.cu"), target())->image, artifact->image);
  EXPECT_EQ(stored(), 1U);
}

TEST_F(Async, AnErrorComesThroughTheCompiling) {
  auto runtime = open();
  const auto broken =
      Program::make({.name = "broken.cu", .source = "__global__ void k() { no; }"}).value();
  const auto compiling = runtime.compile_async(broken, target());
  const auto outcome = compiling.get();
  ASSERT_FALSE(outcome);
  EXPECT_FALSE(compiling.succeeded());
  EXPECT_EQ(outcome.error().code, ErrorCode::compile_failed);
  EXPECT_THAT(outcome.error().log, HasSubstr("\"no\" is undefined"));
  EXPECT_EQ(runtime.compile_async(plain("a.cu"), Target::parse("sm_20").value()).get().error().code,
            ErrorCode::unknown_arch);
}

TEST_F(Async, AHitIsBehindNoCompile) {
  auto runtime = open();
  ASSERT_TRUE(runtime.compile(plain("a.cu"), target()));
  gate_.hold("b.cu");
  const auto behind = runtime.compile_async(plain("b.cu"), target());
  ASSERT_TRUE(gate_.wait_for_begun(2));
  const auto hit = runtime.compile_async(plain("a.cu"), target());
  EXPECT_TRUE(hit.ready());
  EXPECT_EQ(hit.get()->origin, Origin::memory);
  EXPECT_FALSE(behind.ready());
  EXPECT_FALSE(behind.wait_for(1ms));
  gate_.open();
  EXPECT_TRUE(behind.get());
}

TEST_F(Async, TheHigherThePriorityTheSooner) {
  auto runtime = open();
  const auto first = occupy(runtime);
  std::vector<Compiling> others{
      runtime.compile_async(plain("low.cu"), target(), {.priority = -1}),
      runtime.compile_async(plain("usual.cu"), target()),
      runtime.compile_async(plain("usual, later.cu"), target()),
      runtime.compile_async(plain("high.cu"), target(), {.priority = 7}),
      runtime.compile_async(plain("low, brought forward.cu"), target(), {.priority = -2}),
      runtime.compile_async(plain("low, brought forward.cu"), target(), {.priority = 3})};
  gate_.open();
  for (const auto& other : others) EXPECT_TRUE(other.get());
  EXPECT_THAT(gate_.begun(), ElementsAre("first.cu", "high.cu", "low, brought forward.cu",
                                         "usual.cu", "usual, later.cu", "low.cu"));
}

TEST_F(Async, WhatIsCancelledInTheQueueIsNotCompiled) {
  auto runtime = open();
  const auto first = occupy(runtime);
  const auto unwanted = runtime.compile_async(plain("unwanted.cu"), target());
  const auto wanted = runtime.compile_async(plain("wanted.cu"), target());
  unwanted.cancel();
  EXPECT_TRUE(unwanted.ready());
  EXPECT_EQ(unwanted.get().error().code, ErrorCode::cancelled);
  gate_.open();
  EXPECT_TRUE(wanted.get());
  EXPECT_THAT(gate_.begun(), ElementsAre("first.cu", "wanted.cu"));
  wanted.cancel();
  EXPECT_TRUE(wanted.get()) << "what is ready stays so";
}

TEST_F(Async, ThoseWhoAskForTheSameShareItAndCancelForThemselvesAlone) {
  auto runtime = open();
  const auto first = occupy(runtime);
  const auto came_late = runtime.compile_async(plain("first.cu"), target());
  std::vector<Compiling> askers;
  for (int count = 0; count < 3; ++count) {
    askers.push_back(runtime.compile_async(plain("shared.cu"), target()));
  }
  first.cancel();
  askers[0].cancel();
  EXPECT_EQ(first.get().error().code, ErrorCode::cancelled);
  EXPECT_EQ(askers[0].get().error().code, ErrorCode::cancelled);
  gate_.open();
  EXPECT_EQ(came_late.get().value().origin, Origin::memory);
  EXPECT_EQ(askers[1].get().value().origin, Origin::compiled);
  EXPECT_EQ(askers[2].get().value().origin, Origin::memory);
  EXPECT_THAT(gate_.begun(), ElementsAre("first.cu", "shared.cu"));
  EXPECT_EQ(stored(), 2U);
}

TEST_F(Async, AThreadThatWaitsKeepsACancelledCompileGoing) {
  auto runtime = open();
  const auto first = occupy(runtime);
  std::optional<Result<Artifact>> outcome;
  std::thread waiting([&] { outcome = runtime.compile(plain("first.cu"), target()); });
  while (runtime.counters().misses < 1) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(100ms);
  first.cancel();
  gate_.open();
  waiting.join();
  ASSERT_TRUE(outcome->has_value()) << outcome->error().message;
  EXPECT_THAT(gate_.begun(), ElementsAre("first.cu"));
}

TEST_F(Async, WhoAsksAfterACancelHasACompileOfItsOwn) {
  auto runtime = open();
  const auto first = occupy(runtime);
  first.cancel();
  const auto again = runtime.compile_async(plain("first.cu"), target());
  gate_.open();
  EXPECT_TRUE(again.get());
  EXPECT_THAT(gate_.begun(), ElementsAre("first.cu", "first.cu"));
}

TEST_F(Async, AFullQueueSaysSoAtOnce) {
  auto options = this->options();
  options.compile_queue = 1;
  auto runtime = Runtime::open(std::move(options)).value();
  const auto first = occupy(runtime);
  const auto waiting = runtime.compile_async(plain("waiting.cu"), target());
  const auto refused = runtime.compile_async(plain("refused.cu"), target());
  ASSERT_TRUE(refused.ready());
  EXPECT_EQ(refused.get().error().code, ErrorCode::queue_full);
  EXPECT_THAT(refused.get().error().message, HasSubstr("KILN_COMPILE_QUEUE"));
  EXPECT_FALSE(runtime.compile_async(plain("waiting.cu"), target()).ready()) << "it takes no room";
  gate_.open();
  EXPECT_TRUE(waiting.get());
  EXPECT_TRUE(runtime.compile_async(plain("refused.cu"), target()).get());
}

TEST_F(Async, ARuntimeThatEndsCancelsWhatItWasAskedFor) {
  std::optional<Runtime> runtime(open());
  const auto running = runtime->compile_async(long_optimiser(), target());
  ASSERT_TRUE(gate_.wait_for_begun(1));
  const auto waiting = runtime->compile_async(plain("waiting.cu"), target());
  std::this_thread::sleep_for(300ms);
  EXPECT_LT(time_of([&] { runtime.reset(); }), 2 * soon);
  EXPECT_EQ(running.get().error().code, ErrorCode::cancelled);
  EXPECT_EQ(waiting.get().error().code, ErrorCode::cancelled);
  waiting.cancel();
  EXPECT_THAT(gate_.begun(), ElementsAre("optimiser.cu"));
}

TEST_F(Async, WhatNobodyHoldsIsCompiledAllTheSame) {
  auto runtime = open();
  static_cast<void>(runtime.compile_async(plain("a.cu"), target()));
  static_cast<void>(runtime.compile_async(plain("b.cu"), target()).get());
  EXPECT_EQ(stored(), 2U);
}

TEST_F(Async, WhatACallbackThrowsGoesNoFurther) {
  auto options = this->options();
  options.observer = [](const Event&) { throw std::runtime_error("of the observer"); };
  auto runtime = Runtime::open(std::move(options)).value();
  EXPECT_TRUE(runtime.compile_async(plain("a.cu"), target()).get());
  const auto report = runtime.prefetch({{plain("a.cu"), target()}, {plain("b.cu"), target()}},
                                       [](const PrefetchStep&) { throw 1; });
  EXPECT_EQ(report.hits, 1U);
  EXPECT_EQ(report.compiled, 1U);
}

TEST_F(Async, ManyThreadsAskAndCancelAtOnce) {
  auto runtime = open();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int step = 0; step < 24; ++step) {
        const auto program = plain("p" + std::to_string((thread + step) % 6) + ".cu");
        const auto compiling = runtime.compile_async(program, target(), {.priority = step % 3});
        if (step % 3 == 0) compiling.cancel();
        const auto outcome = compiling.get();
        EXPECT_TRUE(outcome || outcome.error().code == ErrorCode::cancelled);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(stored(), 6U);
}

}  // namespace
}  // namespace kiln::test
