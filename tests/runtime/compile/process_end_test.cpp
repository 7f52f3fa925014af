// A process ends while threads of kiln's are at work for nobody.

#include "compile/process_end.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "kiln/kiln.h"
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

// Takes the front end a second at the depth 13, half as long at each lesser one, and it does not ask whether to go on.
constexpr const char* slow_to_read = R"(
template <int N, int M> struct T {
  static constexpr long value = T<N - 1, M * 2>::value + T<N - 1, M * 2 + 1>::value;
};
template <int M> struct T<0, M> { static constexpr long value = 1; };
__global__ void k(long* out) { *out = T<DEPTH, 0>::value; }
)";

/// In this process, of which nobody else is told.
Runtime compiling_itself() {
  RuntimeOptions options;
  options.cache_disabled = true;
  options.compile_workers = 0;
  return Runtime::open(options).value();
}

Program slow_program(int depth) {
  return Program::make({.name = "k.cu",
                        .source = slow_to_read,
                        .options = {"-DDEPTH=" + std::to_string(depth)}})
      .value();
}

Result<Artifact> compile_slowly(Runtime runtime, int depth = 13) {
  const auto program = slow_program(depth);
  return runtime.compile(program, Target::parse("sm_80").value());
}

void expect_exit(pid_t child, int expected) {
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), expected);
}

/// Loads the compiler.
void compile_a_little(Runtime runtime) {
  const auto program = Program::make({.name = "s.cu", .source = "__global__ void s() {}"}).value();
  if (!runtime.compile(program, Target::parse("sm_80").value())) ::_exit(7);
}

// A host whose pool of threads is joined behind all that ends with the main thread, and before what was made earlier.
TEST(ProcessEnd, DoesNotWaitForAHostThatWaitsForACompile) {
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    struct Pool {
      std::thread thread;
      ~Pool() { thread.join(); }
    };
    const auto runtime = compiling_itself();
    compile_a_little(runtime);
    static Pool pool;
    pool.thread = std::thread([runtime] {
      const auto artifact = compile_slowly(runtime);
      const bool given_up = !artifact && artifact.error().code == ErrorCode::cancelled;
      static_cast<void>(::write(ends[1], given_up ? "x" : "-", 1));
    });
    std::this_thread::sleep_for(300ms);
    std::exit(4);  // NOLINT(concurrency-mt-unsafe): with all that it undoes.
  }
  ::close(ends[1]);
  char byte = 0;
  EXPECT_EQ(::read(ends[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'x') << "the host waited until all was compiled";
  ::close(ends[0]);
  expect_exit(child, 4);
}

std::ptrdiff_t threads_of_this_process() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return std::distance(begin(threads), end(threads));
}

// Called behind what kiln and NVIDIA's libraries have for exit().
void end_unless_alone() { ::_exit(threads_of_this_process() == 3 ? 4 : 5); }

TEST(ProcessEnd, WaitsForNvrtcWhicheverThreadCallsExit) {
  if (is_sanitized) GTEST_SKIP() << "the sanitizers have threads of their own";
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    std::atexit(end_unless_alone);
    const auto runtime = compiling_itself();
    compile_a_little(runtime);  // An exit() that meets the load itself is not waited with.
    std::thread host([&runtime] {
      static_cast<void>(compile_slowly(runtime));
      ::pause();
    });
    std::thread ending([] {
      std::this_thread::sleep_for(500ms);
      std::exit(6);  // NOLINT(concurrency-mt-unsafe): with all that it undoes.
    });
    ending.join();
  }
  expect_exit(child, 4);
}

// What NVRTC registers amid its first compiles would be destroyed before anybody waits: of 50 such ends one was a crash, so that
// this finds it in one of three runs.
TEST(ProcessEnd, NothingOfNvrtcIsDestroyedAmidACompile) {
  if (is_sanitized) GTEST_SKIP() << "the sanitizers have their own part in exit()";
  constexpr int depth = 11;
  for (int delay = 0; delay < 200; delay += 10) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);
      const auto runtime = compiling_itself();
      compile_a_little(runtime);
      std::thread host([&runtime] {
        static_cast<void>(compile_slowly(runtime, depth));
        ::pause();
      });
      std::thread ending([delay] {
        std::this_thread::sleep_for(std::chrono::milliseconds(delay));
        std::exit(4);  // NOLINT(concurrency-mt-unsafe): with all that it undoes.
      });
      ending.join();
    }
    expect_exit(child, 4);
  }
}

std::atomic<int> signals = 0;

/// Whether `work` goes well amid signals, and leaves the host's handlers of them.
template <class Work>
void expect_signals_to_be_the_hosts(const Work& work) {
  signals = 0;
  struct sigaction mine {};
  struct sigaction before {};
  mine.sa_handler = [](int) { ++signals; };
  for (const int number : {SIGINT, SIGTERM}) ASSERT_EQ(::sigaction(number, &mine, &before), 0);
  std::atomic<bool> done = false;
  std::thread sender([&done] {
    while (!done) {
      for (const int number : {SIGINT, SIGTERM}) ::kill(::getpid(), number);
      std::this_thread::sleep_for(1ms);
    }
  });
  const bool well = work();
  done = true;
  sender.join();
  EXPECT_TRUE(well);
  EXPECT_GT(signals, 0);
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction after {};
    ASSERT_EQ(::sigaction(number, &before, &after), 0);
    EXPECT_EQ(after.sa_handler, mine.sa_handler);
  }
}

// NVRTC has handlers of its own, which would end the process.
TEST(ProcessEnd, ASignalAmidACompileIsTheHosts) {
  expect_signals_to_be_the_hosts([] { return compile_slowly(compiling_itself()).has_value(); });
}

TEST(ProcessEnd, ASignalAmidATraceIsTheHosts) {
  expect_signals_to_be_the_hosts([] {
    return compiling_itself().trace(slow_program(11), Target::parse("sm_80").value()).has_value();
  });
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
