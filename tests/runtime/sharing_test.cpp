// What processes share beyond the cache's content: the turn to compile, and what it came to.

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "compile_fixture.h"
#include "support/child.h"

namespace kiln::test {
namespace {

class Sharing : public CompileFixture {
 protected:
  static ProgramSpec spec(int number) {
    const std::string source = "__global__ void k(int* x) { *x = " + std::to_string(number) + "; }";
    return {.name = "shared.cu", .source = source, .kernels = {"k"}};
  }

  /// As options(), and tells a file that processes share of every compile that begins.
  RuntimeOptions watched() {
    auto options = this->options();
    options.observer = [this](const Event& event) {
      if (event.kind == EventKind::compile_begin) std::ofstream(log(), std::ios::app) << "c\n";
    };
    return options;
  }

  [[nodiscard]] std::filesystem::path log() const { return scratch_ / "compiles"; }

  int compiles() const {
    std::ifstream file(log());
    int lines = 0;
    for (std::string line; std::getline(file, line);) ++lines;
    return lines;
  }

  Result<Artifact> compile(Runtime& runtime, ProgramSpec what) {
    return runtime.compile(Program::make(std::move(what)).value(), Target::parse("sm_80").value());
  }

  /// Runs `work` in so many processes at one time; gives their exit statuses and how often each came.
  static std::map<int, int> in_processes(int count, const std::function<int(int)>& work) {
    std::vector<pid_t> children;
    for (int number = 0; number < count; ++number) {
      const pid_t child = ::fork();
      if (child == 0) ::_exit(work(number));
      children.push_back(child);
    }
    std::map<int, int> results;
    for (const pid_t child : children) {
      int status = 0;
      ::waitpid(child, &status, 0);
      ++results[WIFEXITED(status) ? WEXITSTATUS(status) : -1];
    }
    return results;
  }
};

TEST_F(Sharing, ProcessesThatAskForTheSameCompileItOnce) {
  const auto results = in_processes(8, [&](int first) {
    auto runtime = Runtime::open(watched()).value();
    for (int step = 0; step < 4; ++step) {
      if (!compile(runtime, spec((first + step) % 4))) return 1;
    }
    return 0;
  });
  EXPECT_EQ(results, (std::map<int, int>{{0, 8}}));
  EXPECT_EQ(compiles(), 4);
}

TEST_F(Sharing, AFailureIsSharedWithThoseWhoWaitedAndNotKept) {
  const ProgramSpec broken{.name = "broken.cu", .source = "__global__ void k() { no; }"};
  const auto results = in_processes(4, [&](int) {
    auto runtime = Runtime::open(watched()).value();
    const auto artifact = compile(runtime, broken);
    if (artifact || artifact.error().code != ErrorCode::compile_failed) return 1;
    return artifact.error().log.find("\"no\" is undefined") != std::string::npos ? 0 : 2;
  });
  EXPECT_EQ(results, (std::map<int, int>{{0, 4}}));
  const int together = compiles();
  EXPECT_LE(together, 4);
  auto runtime = Runtime::open(watched()).value();
  EXPECT_FALSE(compile(runtime, broken));
  EXPECT_EQ(compiles(), together + 1) << "one that asks later compiles for itself";
}

TEST_F(Sharing, WhoeverWaitedHasAHitAndNoMiss) {
  std::promise<void> missed;
  auto of_second = options();
  of_second.observer = [&](const Event& event) {
    if (event.kind == EventKind::miss) missed.set_value();
  };
  auto second = Runtime::open(of_second).value();
  std::future<bool> waiting;
  auto of_first = options();
  of_first.observer = [&](const Event& event) {
    if (event.kind != EventKind::compile_begin) return;
    waiting = std::async(std::launch::async, [&] { return compile(second, spec(1)).has_value(); });
    missed.get_future().wait();
  };
  auto first = Runtime::open(of_first).value();
  ASSERT_TRUE(compile(first, spec(1)));
  EXPECT_TRUE(waiting.get());
  EXPECT_EQ(first.counters().misses, 1U);
  EXPECT_EQ(second.counters().misses, 0U);
  EXPECT_EQ(second.counters().local_hits, 1U);
}

TEST_F(Sharing, AStoppedProcessIsNotWaitedForForEver) {
  const pid_t stopped = ::fork();
  if (stopped == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto options = this->options();
    options.observer = [](const Event& event) {
      if (event.kind == EventKind::compile_begin) ::raise(SIGSTOP);
    };
    auto runtime = Runtime::open(std::move(options)).value();
    ::_exit(compile(runtime, spec(1)) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(stopped, &status, WUNTRACED), stopped);
  ASSERT_TRUE(WIFSTOPPED(status));
  auto runtime = Runtime::open(watched()).value();
  EXPECT_TRUE(compile(runtime, spec(1)));
  EXPECT_EQ(compiles(), 1);
  EXPECT_EQ(runtime.counters().waits, 1U);
  ::kill(stopped, SIGCONT);
  ASSERT_EQ(::waitpid(stopped, &status, 0), stopped);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(Sharing, PatienceHasAnEnd) {
  const pid_t slow = ::fork();
  if (slow == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto options = this->options();
    options.observer = [](const Event& event) {
      if (event.kind == EventKind::compile_begin)
        std::this_thread::sleep_for(std::chrono::hours(1));
    };
    auto runtime = Runtime::open(std::move(options)).value();
    ::_exit(compile(runtime, spec(1)) ? 0 : 1);
  }
  // Until it has the turn: then its lock file is there and it sleeps.
  while (!std::filesystem::exists(cache_directory() / "kernels.v1.flights")) {
    ASSERT_EQ(::waitpid(slow, nullptr, WNOHANG), 0) << "it ended before it had begun";
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  auto options = watched();
  options.compile_patience = std::chrono::milliseconds(100);
  auto runtime = Runtime::open(std::move(options)).value();
  EXPECT_TRUE(compile(runtime, spec(1)));
  EXPECT_EQ(compiles(), 1);
  ::kill(slow, SIGKILL);
  ::waitpid(slow, nullptr, 0);
}

TEST_F(Sharing, AChildThatWasForkedGoesOnWithTheCache) {
  auto runtime = Runtime::open(watched()).value();
  ASSERT_TRUE(compile(runtime, spec(1)));
  EXPECT_EQ(run_in_child([&] {
              auto artifact = compile(runtime, spec(2));
              return artifact && artifact->origin == Origin::compiled ? 0 : 1;
            }),
            0);
  const auto artifact = compile(runtime, spec(2));
  ASSERT_TRUE(artifact);
  EXPECT_EQ(artifact->origin, Origin::local);
}

}  // namespace
}  // namespace kiln::test
