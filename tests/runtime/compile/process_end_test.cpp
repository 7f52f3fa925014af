// A process ends while threads of kiln's are at work for nobody.

#include "compile/process_end.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "support/sanitized.h"

namespace kiln::test {
namespace {

using namespace std::chrono_literals;

std::array<int, 2> ends{-1, -1};

// What a library keeps for a thread behind everything that C++ destroys.
void destroy_late(void*) {
  std::this_thread::sleep_for(100ms);
  static_cast<void>(::write(ends[1], "x", 1));
}

TEST(ProcessEnd, WaitsUntilNothingIsLeftOfAnAdoptedThread) {
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    auto& end = ProcessEnd::get();
    std::thread thread([&end] {
      pthread_key_t key = 0;
      ::pthread_key_create(&key, destroy_late);
      ::pthread_setspecific(key, &end);
      static_cast<void>(end.wait_for_this_thread());
    });
    end.adopt(std::move(thread));
    std::exit(0);  // NOLINT(concurrency-mt-unsafe): with all that it undoes.
  }
  ::close(ends[1]);
  char byte = 0;
  EXPECT_EQ(::read(ends[0], &byte, 1), 1) << "it ended before its thread";
  ::close(ends[0]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ProcessEnd, WaitsForACallOnAThreadOfTheHosts) {
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    std::atomic<bool> stays = false;
    std::thread([&stays] {
      const ProcessEnd::Stay stay;
      stays = true;
      std::this_thread::sleep_for(100ms);
      const bool told = !stay;
      static_cast<void>(::write(ends[1], told ? "x" : "-", 1));
    }).detach();
    while (!stays) std::this_thread::sleep_for(1ms);
    std::exit(0);  // NOLINT(concurrency-mt-unsafe): with all that it undoes.
  }
  ::close(ends[1]);
  char byte = 0;
  EXPECT_EQ(::read(ends[0], &byte, 1), 1) << "it ended before the call";
  EXPECT_EQ(byte, 'x') << "the call was not told that the process is ending";
  ::close(ends[0]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// As NVRTC does on its own thread, once its handler of a signal has ended the process on the main one.
TEST(ProcessEnd, AThreadAtWorkThatEndsTheProcessTooDoesNotChangeTheStatus) {
  if (is_sanitized) GTEST_SKIP() << "what the thread has is a leak to a sanitizer";
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    std::atexit([] {
      if (::gettid() != ::getpid()) ::_exit(1);
    });
    std::atomic<bool> works = false;
    std::thread([&works] {
      auto& end = ProcessEnd::get();
      static_cast<void>(end.wait_for_this_thread());
      const ProcessEnd::Work work;
      works = true;
      while (!end.ending().stop_requested()) std::this_thread::sleep_for(1ms);
      std::exit(0);  // NOLINT(concurrency-mt-unsafe)
    }).detach();
    while (!works) std::this_thread::sleep_for(1ms);
    std::exit(4);  // NOLINT(concurrency-mt-unsafe): with all that it undoes.
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 4);
}

std::size_t pages_mapped() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages;
}

// One that has ended and is not joined keeps its stack.
TEST(ProcessEnd, JoinsWhatHasEndedWhenItAdoptsAnother) {
  if (is_sanitized) GTEST_SKIP() << "the sanitizers map memory themselves";
  const auto before = pages_mapped();
  std::atomic<int> done = 0;
  for (int number = 0; number < 2000; ++number) {
    ProcessEnd::get().adopt(std::thread([&done] { ++done; }));
    while (done <= number)
      std::this_thread::yield();  // On a busy machine many wait for their turn.
  }
  const auto stack = std::size_t{8} << 20;
  EXPECT_LT((pages_mapped() - before) * static_cast<std::size_t>(::getpagesize()), 200 * stack);
}

TEST(ProcessEnd, AForkedChildWaitsForNoThreadOfItsParents) {
  if (is_sanitized)
    GTEST_SKIP() << "what the parent's thread has is a leak to a sanitizer in the child";
  std::atomic<bool> done = false;
  ProcessEnd::get().adopt(std::thread([&done] {
    while (!done) std::this_thread::sleep_for(1ms);
  }));
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(5);    // The end of a process waits for ten seconds at most.
    std::exit(0);  // NOLINT(concurrency-mt-unsafe): with all that it undoes.
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  done = true;
}

}  // namespace
}  // namespace kiln::test
