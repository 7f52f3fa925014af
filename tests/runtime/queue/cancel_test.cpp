// Cancel and timeout come at once, whatever the compiler does, and leave nothing behind.

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async_fixture.h"

namespace kiln::test {
namespace {

using ::testing::HasSubstr;

struct Long {
  const char* name;
  Program (*program)();
  std::chrono::milliseconds until_busy;  ///< After which the compiler is in the midst of it.
};

class Cancel : public AsyncFixture {
 protected:
  /// Waits for what was abandoned. The end of a process does so for ten seconds, and a sanitizer takes what a slow
  /// machine leaves of it then for a leak.
  void TearDown() override { EXPECT_TRUE(open().compile(plain("after.cu"), target())); }

  /// Whether somebody else may compile `program` by now: another runtime has the turn without waiting, and
  /// gives up when it has begun.
  void expect_free_soon(const Program& program) {
    std::this_thread::sleep_for(soon);
    Gate gate;
    auto options = this->options();
    options.observer = gate.observer();
    options.compile_timeout = 1ms;
    auto other = Runtime::open(std::move(options)).value();
    EXPECT_EQ(other.compile(program, target()).error().code, ErrorCode::timed_out);
    EXPECT_EQ(gate.begun().size(), 1U);
    EXPECT_EQ(other.counters().waits, 0U);
    EXPECT_EQ(stored(), 0U);
  }
};

class CancelWhile : public Cancel, public ::testing::WithParamInterface<int> {
 public:
  static Long of(int which) {
    if (which == 0) return {"front end", long_front_end, 300ms};
    return {"optimiser", [] { return long_optimiser(); }, 500ms};
  }
};

TEST_P(CancelWhile, ReturnsAtOnceAndLeavesNothing) {
  const auto [name, program, until_busy] = of(GetParam());
  SCOPED_TRACE(name);
  auto runtime = open();
  const auto compiling = runtime.compile_async(program(), target());
  ASSERT_TRUE(gate_.wait_for_begun(1));
  ASSERT_FALSE(compiling.wait_for(until_busy)) << "too quick to be cancelled";
  EXPECT_LT(time_of([&] {
              compiling.cancel();
              EXPECT_EQ(compiling.get().error().code, ErrorCode::cancelled);
            }),
            soon);
  expect_free_soon(program());
  EXPECT_EQ(runtime.counters().stores, 0U);
}

TEST_P(CancelWhile, ATimeoutReturnsAtOnceAndLeavesNothing) {
  const auto [name, program, until_busy] = of(GetParam());
  SCOPED_TRACE(name);
  auto options = this->options();
  options.compile_timeout = until_busy;
  auto runtime = Runtime::open(std::move(options)).value();
  const auto outcome = runtime.compile(program(), target());
  const auto time = std::chrono::steady_clock::now() - gate_.last_begin();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::timed_out);
  EXPECT_THAT(outcome.error().message, HasSubstr("KILN_COMPILE_TIMEOUT"));
  EXPECT_GE(time, until_busy);
  EXPECT_LT(time, until_busy + soon);
  expect_free_soon(program());
}

INSTANTIATE_TEST_SUITE_P(TheCompiler, CancelWhile, ::testing::Values(0, 1), [](const auto& which) {
  return which.param == 0 ? "IsInItsFrontEnd" : "IsInItsOptimiser";
});

TEST_F(Cancel, WhatIsAbandonedIsNotStoredLater) {
  auto runtime = open();
  const auto compiling = runtime.compile_async(long_front_end(), target());
  ASSERT_TRUE(gate_.wait_for_begun(1));
  std::this_thread::sleep_for(100ms);
  compiling.cancel();
  // It waits for the front end that was abandoned, and so until that has come to its end.
  EXPECT_TRUE(runtime.compile(plain("another.cu"), target()));
  std::this_thread::sleep_for(500ms);
  EXPECT_EQ(stored(), 1U);
}

TEST_F(Cancel, AnotherProcessMayBeginAtOnce) {
  int asked[2];
  int answer[2];
  ASSERT_EQ(::pipe(asked), 0);
  ASSERT_EQ(::pipe(answer), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    char byte = 0;
    if (::read(asked[0], &byte, 1) != 1) ::_exit(1);
    expect_free_soon(long_optimiser());
    byte = HasFailure() ? 'n' : 'y';
    ::_exit(::write(answer[1], &byte, 1) == 1 ? 0 : 1);
  }
  ::close(answer[1]);
  auto runtime = open();
  const auto compiling = runtime.compile_async(long_optimiser(), target());
  ASSERT_TRUE(gate_.wait_for_begun(1));
  std::this_thread::sleep_for(300ms);
  compiling.cancel();
  char byte = 'x';
  ASSERT_EQ(::write(asked[1], &byte, 1), 1);
  ASSERT_EQ(::read(answer[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  ::waitpid(other, nullptr, 0);
}

TEST_F(Cancel, WhoWaitsForAnotherProcessGoesAtOnce) {
  int begun[2];
  ASSERT_EQ(::pipe(begun), 0);
  const pid_t slow = ::fork();
  if (slow == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto options = this->options();
    options.observer = [&](const Event& event) {
      if (event.kind != EventKind::compile_begin) return;
      [[maybe_unused]] const auto told = ::write(begun[1], "b", 1);
      std::this_thread::sleep_for(std::chrono::hours(1));
    };
    auto runtime = Runtime::open(std::move(options)).value();
    ::_exit(runtime.compile(plain("a.cu"), target()) ? 0 : 1);
  }
  ::close(begun[1]);
  char byte = 0;
  ASSERT_EQ(::read(begun[0], &byte, 1), 1);
  {
    auto options = this->options();
    options.compile_patience = 5s;  // So that one that does wait is seen, and not waited for.
    auto runtime = Runtime::open(std::move(options)).value();
    const auto compiling = runtime.compile_async(plain("a.cu"), target());
    EXPECT_FALSE(compiling.wait_for(200ms));
    EXPECT_LT(time_of([&] { compiling.cancel(); }), soon);
    // The only thread is free again.
    EXPECT_LT(time_of([&] { EXPECT_TRUE(runtime.compile_async(plain("b.cu"), target()).get()); }),
              2s);
    const auto again = runtime.compile_async(plain("a.cu"), target());
    EXPECT_LT(time_of([&] { runtime = open(); }), soon) << "nor does the end of a runtime wait";
    EXPECT_EQ(again.get().error().code, ErrorCode::cancelled);
  }
  ::kill(slow, SIGKILL);
  ::waitpid(slow, nullptr, 0);
}

[[noreturn]] void exit_while_abandoned(const Program& program) {
  // What was set up before NVRTC came is undone after NVRTC is: long enough for it to notice.
  std::atexit([] { std::this_thread::sleep_for(1s); });
  static Gate gate;
  static Runtime runtime =
      Runtime::open({.cache_disabled = true, .observer = gate.observer()}).value();
  const auto compiling = runtime.compile_async(program, target());
  gate.wait_for_begun(1);
  static_cast<void>(compiling.wait_for(200ms));
  compiling.cancel();
  std::exit(7);  // NOLINT(concurrency-mt-unsafe): with all that it undoes.
}

TEST(CancelDeathTest, AProcessMayExitWhileACompileIsAbandoned) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(exit_while_abandoned(long_front_end()), ::testing::ExitedWithCode(7), "");
  EXPECT_EXIT(exit_while_abandoned(long_optimiser(300)), ::testing::ExitedWithCode(7), "");
}

[[noreturn]] void exit_while_loading(std::chrono::milliseconds after) {
  std::thread([] {
    auto runtime = Runtime::open({.cache_disabled = true, .compile_workers = 0}).value();
    static_cast<void>(runtime.compile(plain("a.cu"), target()));
  }).detach();
  std::this_thread::sleep_for(after);
  std::exit(7);  // NOLINT(concurrency-mt-unsafe): with all that it undoes.
}

TEST(CancelDeathTest, AProcessMayExitWhileItsCompilerIsLoaded) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const auto after : {2ms, 5ms, 10ms, 15ms, 20ms, 30ms}) {
    EXPECT_EXIT(exit_while_loading(after), ::testing::ExitedWithCode(7), "") << after.count();
  }
}

TEST_F(Cancel, AForkedChildMayExitWithAQueueThatItDoesNotHave) {
  std::optional<Runtime> runtime(open());
  EXPECT_TRUE(runtime->compile_async(plain("a.cu"), target()).get());
  const pid_t child = ::fork();
  if (child == 0) {
    runtime.reset();
    ::_exit(7);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace kiln::test
