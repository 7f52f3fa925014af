// What becomes of a job whose worker dies, and of those beside it.

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/build_identity.h"
#include "jobs.h"
#include "pool.h"
#include "support/scratch.h"

namespace kiln::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

using Outcomes = std::vector<std::optional<Result<CompileOutcome>>>;

// As an engine does that asks from many threads.
Outcomes run_all(Pool& pool, const std::vector<CompileJob>& jobs) {
  Outcomes outcomes(jobs.size());
  std::vector<std::thread> threads;
  for (std::size_t at = 0; at < jobs.size(); ++at) {
    threads.emplace_back([&, at] { outcomes[at] = pool.run(jobs[at]); });
  }
  for (auto& thread : threads) thread.join();
  return outcomes;
}

void expect_failure(const Result<CompileOutcome>& outcome, ErrorCode code,
                    const std::vector<std::string>& words) {
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, code) << outcome.error().message;
  for (const auto& word : words) EXPECT_THAT(outcome.error().message, HasSubstr(word));
}

void expect_done(const Result<CompileOutcome>& outcome) {
  ASSERT_TRUE(outcome) << outcome.error().message << '\n' << outcome.error().log;
  EXPECT_FALSE(outcome->artifact.image.empty());
  ASSERT_EQ(outcome->artifact.kernels.size(), 1U);
  EXPECT_FALSE(outcome->artifact.kernels[0].symbol.empty());
}

std::uint64_t address_space_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/statm", process));
  std::uint64_t pages = 0;
  file >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

TEST(Deaths, CostTheirOwnJobAlone) {
  constexpr auto timeout = 20s;
  Pool pool(2, [&](WorkerPoolOptions& options) {
    options.timeout = timeout;
    options.memory = {std::uint64_t{512} << 20, std::uint64_t{512} << 20};
  });
  std::vector<CompileJob> jobs;
  for (int number = 0; number < 64; ++number) jobs.push_back(plain_job(number));
  constexpr std::size_t crashing = 7;
  constexpr std::size_t spinning = 20;
  constexpr std::size_t devouring = 33;
  jobs[crashing] = crashing_job();
  jobs[spinning] = spinning_job();
  jobs[devouring] = devouring_job();

  std::atomic<bool> killed = false;
  std::thread killer([&] {
    killed = becomes_true([] {
      const auto workers = children();
      return !workers.empty() && ::kill(workers[0], SIGKILL) == 0;
    });
  });
  const auto begin = std::chrono::steady_clock::now();
  const auto outcomes = run_all(pool, jobs);
  const auto time = std::chrono::steady_clock::now() - begin;
  killer.join();

  EXPECT_TRUE(killed);
  for (std::size_t at = 0; at < jobs.size(); ++at) {
    SCOPED_TRACE(jobs[at].program);
    if (at == crashing) {
      expect_failure(*outcomes[at], ErrorCode::worker_failed,
                     {"crashing.cu", "sm_80", "SIGABRT", "Failed to write time profiler data"});
    } else if (at == spinning) {
      expect_failure(*outcomes[at], ErrorCode::timed_out,
                     {"spinning.cu", "sm_80", "20 s", "KILN_COMPILE_TIMEOUT"});
    } else if (at == devouring) {
      expect_failure(*outcomes[at], ErrorCode::worker_failed,
                     {"devouring.cu", "sm_80", "memory", "512 MiB", "KILN_COMPILE_MEMORY"});
    } else {
      expect_done(*outcomes[at]);
    }
  }
  // What the others take is a fraction of what a loaded machine is allowed here.
  EXPECT_LT(time, timeout + 60s);
  EXPECT_EQ(pool.warnings(), "");
}

// How many workers took a job that takes all memory.
int workers_devoured(const CompileJob& job, std::uint64_t usual, std::uint64_t most) {
  const ScratchDirectory scratch;
  const auto starts = scratch / "starts";
  const auto executable = scratch / "worker";
  write_file(executable, fmt::format("#!/bin/sh\necho >>{}\nexec {} \"$@\"\n", starts.string(),
                                     find_worker(std::nullopt).executable.string()));
  std::filesystem::permissions(executable, std::filesystem::perms::owner_all);
  Pool pool(1, [&](WorkerPoolOptions& options) {
    options.executable = executable;
    options.memory = {usual, most};
  });
  expect_failure(pool.run(job), ErrorCode::worker_failed,
                 {"devouring.cu", "ran out of memory", fmt::format("{} MiB", most >> 20),
                  "KILN_COMPILE_MEMORY"});
  return static_cast<int>(read_file(starts).size());
}

TEST(Deaths, WhatTakesAllMemoryIsTriedAgainOnlyWithMore) {
  constexpr auto mebibyte = std::uint64_t{1} << 20;
  for (const auto& job : {devouring_job(), devouring_back_end_job()}) {
    EXPECT_EQ(workers_devoured(job, 512 * mebibyte, 512 * mebibyte), 1);
    EXPECT_EQ(workers_devoured(job, 512 * mebibyte, 700 * mebibyte), 2);
  }
}

TEST(Deaths, TheMemoryOfTheMachineIsSharedByItsWorkers) {
  constexpr auto gibibyte = std::uint64_t{1} << 30;
  const auto shared = memory_for(automatic_memory, 8, 64 * gibibyte);
  EXPECT_EQ(shared.usual, 8 * gibibyte);
  EXPECT_EQ(shared.most, 64 * gibibyte);
  const auto small = memory_for(automatic_memory, 8, 16 * gibibyte);
  EXPECT_EQ(small.usual, 4 * gibibyte);
  EXPECT_EQ(small.most, 16 * gibibyte);
  const auto wanted = memory_for(gibibyte, 8, 64 * gibibyte);
  EXPECT_EQ(wanted.usual, gibibyte);
  EXPECT_EQ(wanted.most, gibibyte);
}

TEST(Deaths, AJobWhoseWorkersAreKilledAgainAndAgainSaysSo) {
  Pool pool(1);
  std::atomic<bool> over = false;
  std::thread killer([&] {
    // A moment each, so that a job runs there.
    while (!over) {
      std::this_thread::sleep_for(400ms);
      for (const auto process : children()) ::kill(process, SIGKILL);
    }
  });
  const auto outcome = pool.run(spinning_job());
  over = true;
  killer.join();
  expect_failure(outcome, ErrorCode::worker_failed, {"spinning.cu", "sm_80", "SIGKILL"});
  expect_done(pool.run(plain_job(1)));
}

TEST(Deaths, AnIdleWorkerThatIsKilledIsReplaced) {
  Pool pool(1);
  expect_done(pool.run(plain_job(1)));
  const auto before = children();
  ASSERT_EQ(before.size(), 1U);
  ::kill(before[0], SIGKILL);
  expect_done(pool.run(plain_job(2)));
  EXPECT_TRUE(becomes_true([&] { return children().size() == 1; }));
  EXPECT_NE(children(), before);
}

TEST(Deaths, AWorkerThatHasGrownIsReplaced) {
  std::uint64_t size = 0;
  {
    Pool pool(1);
    expect_done(pool.run(plain_job(1)));
    const auto usual = children();
    expect_done(pool.run(plain_job(2)));
    ASSERT_EQ(children(), usual);
    size = address_space_of(usual.at(0));
  }
  ASSERT_GT(size, 0U);
  // Enough to compile, and three quarters of it are always in use.
  Pool pool(1, [&](WorkerPoolOptions& options) { options.memory = {size / 4 * 5, size / 4 * 5}; });
  expect_done(pool.run(plain_job(1)));
  EXPECT_TRUE(becomes_true([] { return children().empty(); }));
  expect_done(pool.run(plain_job(2)));
}

TEST(Deaths, AWorkerOfAnotherBuildIsRefused) {
  Pool pool(1,
            [](WorkerPoolOptions& options) { options.executable = KILN_WORKER_OF_ANOTHER_BUILD; });
  expect_done(pool.run(plain_job(1)));
  for (const auto& word :
       {std::string(KILN_WORKER_OF_ANOTHER_BUILD), std::string("kiln 9.9.9 of another build"),
        std::string(build_identity()), std::string("KILN_WORKER")}) {
    EXPECT_THAT(pool.warnings(), HasSubstr(word));
  }
}

TEST(Deaths, ErrorsOfTheCompilerComeThrough) {
  Pool pool(1);
  auto job = plain_job(1);
  job.source = "__global__ void kernel(int* out) { *out = undeclared; }";
  const auto outcome = pool.run(job);
  expect_failure(outcome, ErrorCode::compile_failed, {"plain_1.cu", "undeclared"});
  EXPECT_THAT(outcome.error().log, HasSubstr("identifier \"undeclared\" is undefined"));
}

TEST(Deaths, NoWorkerMeansThisProcessAndAWarning) {
  for (const char* executable : {"/nonexistent/kiln-worker", "/bin/true", "/bin/cat"}) {
    SCOPED_TRACE(executable);
    Pool pool(2, [&](WorkerPoolOptions& options) { options.executable = executable; });
    expect_done(pool.run(plain_job(1)));
    expect_done(pool.run(plain_job(2)));
    const auto warnings = pool.warnings();
    EXPECT_THAT(warnings, HasSubstr(executable));
    const auto again = warnings.find("instead of in workers");
    EXPECT_EQ(warnings.find("instead of in workers", again + 1), std::string::npos) << warnings;
  }
}

/// Makes a program of the shell's in the place of a worker.
std::filesystem::path script(const std::filesystem::path& file, const std::string& command) {
  write_file(file, "#!/bin/sh\n" + command + "\n");
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  return file;
}

// Killed by somebody else before it could answer: that says nothing of the executable, and what may have
// been a job too large for the machine is not tried in the host.
TEST(Deaths, AWorkerThatIsKilledAtItsStartDoesNotBringTheCompileIntoThisProcess) {
  const ScratchDirectory scratch;
  const auto executable = script(scratch / "worker", "kill -KILL $$");
  Pool pool(1, [&](WorkerPoolOptions& options) { options.executable = executable; });
  expect_failure(pool.run(plain_job(1)), ErrorCode::worker_failed, {"plain_1.cu", "SIGKILL"});
  EXPECT_EQ(pool.warnings(), "");
}

// It takes as long as a worker may take to answer at its start.
TEST(Deaths, AWorkerThatDoesNotAnswerIsSaidNotTo) {
  const ScratchDirectory scratch;
  const auto executable = script(scratch / "worker", "exec sleep 100");
  Pool pool(1, [&](WorkerPoolOptions& options) { options.executable = executable; });
  expect_done(pool.run(plain_job(1)));
  EXPECT_THAT(pool.warnings(),
              HasSubstr(executable.string() + " does not start: it did not answer within 30 s"));
}

TEST(Deaths, NoWorkerIsAnErrorWhereVariablesWouldReachTheOutput) {
  const ScopedVariable variable("NVRTC_SOMETHING", "1");
  Pool pool(1, [](WorkerPoolOptions& options) { options.executable = "/nonexistent/worker"; });
  expect_failure(pool.run(plain_job(1)), ErrorCode::worker_failed,
                 {"plain_1.cu", "/nonexistent/worker", "NVRTC_"});
}

}  // namespace
}  // namespace kiln::test
