// What the program around it does, and what of that program a worker may see.

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "jobs.h"
#include "kiln/kiln.h"
#include "pool.h"
#include "support/child.h"
#include "support/scratch.h"
#include "system/whole_io.h"

namespace kiln::test {
namespace {

using namespace std::chrono_literals;

std::string text_of(const std::filesystem::path& file) {
  return system::read_file(file.c_str()).value_or("");  // Processes end meanwhile.
}

std::size_t descriptors_of(pid_t process) {
  const std::filesystem::directory_iterator all(fmt::format("/proc/{}/fd", process));
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// Also for what the listing itself opens.
std::size_t own_descriptors() { return descriptors_of(::getpid()); }

bool is_mapped(const std::string& library) {
  return text_of("/proc/self/maps").find(library) != std::string::npos;
}

TEST(Host, ItsDescriptorsDoNotReachAWorkerAndNoneStaysBehind) {
  std::array<int, 2> inherited{};
  ASSERT_EQ(::pipe(inherited.data()), 0);
  const auto before = own_descriptors();
  {
    Pool pool(2);
    ASSERT_TRUE(pool.run(plain_job(1)));
    const auto workers = children();
    ASSERT_EQ(workers.size(), 1U);
    // Its three streams, its socket, and the lock of its folder for temporary files.
    EXPECT_EQ(descriptors_of(workers[0]), 5U);
    EXPECT_FALSE(pool.run(crashing_job()));
    ASSERT_TRUE(pool.run(plain_job(2)));
  }
  EXPECT_EQ(own_descriptors(), before);
  EXPECT_TRUE(children().empty()) << "a worker is left, or a zombie";
  ::close(inherited[0]);
  ::close(inherited[1]);
}

TEST(Host, AWorkerSurvivesTheThreadThatWantedItFirst) {
  Pool pool(1);
  std::thread([&] { EXPECT_TRUE(pool.run(plain_job(1))); }).join();
  const auto workers = children();
  EXPECT_TRUE(pool.run(plain_job(2)));
  EXPECT_EQ(children(), workers);
}

TEST(Host, AnyHandlingOfItsChildrenIsWellEnough) {
  EXPECT_EQ(run_in_child([] {
              ::signal(SIGCHLD, SIG_IGN);
              Pool pool(2);
              if (!pool.run(plain_job(1))) return 1;
              const auto failed = pool.run(crashing_job());
              if (failed || failed.error().code != ErrorCode::worker_failed) return 2;
              if (failed.error().message.find("Could not open") == std::string::npos) return 3;
              return pool.run(plain_job(2)) ? 0 : 4;
            }),
            0);
}

TEST(Host, ClosedStreamsAreNoMatter) {
  EXPECT_EQ(run_in_child([] {
              for (int number = 0; number <= 5; ++number) ::close(number);
              Pool pool(1);
              if (!pool.run(plain_job(1))) return 1;
              const auto failed = pool.run(crashing_job());
              return failed.error().message.find("Could not open") != std::string::npos ? 0 : 2;
            }),
            0);
}

TEST(Host, AForkedChildLeavesItsParentsWorkersAlone) {
  Pool pool(1);
  ASSERT_TRUE(pool.run(plain_job(1)));
  const auto workers = children();
  EXPECT_EQ(run_in_child([&] {
              pool.~Pool();
              return 0;
            }),
            0);
  EXPECT_EQ(children(), workers);
  EXPECT_TRUE(pool.run(plain_job(2)));
}

TEST(Host, WorkersEndWithIt) {
  const ScratchDirectory scratch;
  const auto list = scratch / "workers";
  const pid_t host = ::fork();
  if (host == 0) {
    // Holds every descriptor, as what a host forks may.
    if (::fork() == 0) {
      std::this_thread::sleep_for(30s);
      ::_exit(0);
    }
    Pool pool(2);
    std::thread busy([&] { static_cast<void>(pool.run(spinning_job())); });
    std::this_thread::sleep_for(500ms);
    static_cast<void>(pool.run(plain_job(1)));
    std::string text;
    for (const auto process : children()) {
      if (text_of(fmt::format("/proc/{}/cmdline", process)).starts_with("kiln-worker")) {
        text += fmt::format("{} ", process);
      }
    }
    write_file(scratch / "new", text);
    std::filesystem::rename(scratch / "new", list);
    busy.join();
    ::_exit(0);
  }
  ASSERT_TRUE(becomes_true([&] { return std::filesystem::exists(list); }));
  ::kill(host, SIGKILL);
  ::waitpid(host, nullptr, 0);
  std::istringstream all(read_file(list));
  const std::vector<pid_t> workers{std::istream_iterator<pid_t>(all), {}};
  EXPECT_EQ(workers.size(), 2U);
  for (const auto worker : workers) {
    EXPECT_TRUE(becomes_true([&] { return !runs(worker); }, 5s)) << worker;
  }
}

TEST(Host, AWorkerHasItsOwnGroupAndNoCore) {
  Pool pool(1);
  ASSERT_TRUE(pool.run(plain_job(1)));
  const auto worker = children().at(0);
  EXPECT_EQ(::getpgid(worker), worker);
  const auto limits = text_of(fmt::format("/proc/{}/limits", worker));
  const auto core = limits.find("Max core file size");
  ASSERT_NE(core, std::string::npos);
  EXPECT_EQ(limits.substr(core, 45).find_first_of("123456789"), std::string::npos) << limits;
}

// A runtime over a cache that is new each time.
Runtime fresh_runtime(const std::filesystem::path& cache, unsigned workers) {
  RuntimeOptions options;
  options.cache_directory = cache;
  options.compile_workers = workers;
  return Runtime::open(options).value();
}

Program program_with(const std::string& name, std::vector<std::string> options) {
  return Program::make(
             {.name = name,
              .source = "#include <cuda_fp16.h>\n__global__ void kernel(__half* x) { *x = 1; }",
              .headers = {},
              .kernels = {"kernel"},
              .options = std::move(options)})
      .value();
}

TEST(Host, WorkersAreTheDefaultAndStartedOnFirstNeed) {
  EXPECT_EQ(run_in_child([] {
              const bool mapped_before = is_mapped("libnvrtc");
              const ScratchDirectory scratch;
              std::filesystem::create_directory(scratch / "temporary");
              const ScopedVariable temporary("TMPDIR", (scratch / "temporary").c_str());
              const ScopedVariable unset("KILN_COMPILE_WORKERS", "");
              RuntimeOptions options;
              options.cache_directory = scratch / "cache";
              const auto program = program_with("k.cu", {});
              const auto target = Target::parse("sm_80").value();
              {
                auto runtime = Runtime::open(options).value();
                if (!children().empty()) return 1;
                if (!std::filesystem::is_empty(scratch / "temporary")) return 2;
                if (runtime.compile(program, target).value().origin != Origin::compiled) return 3;
                if (children().size() != 1 || is_mapped("libnvrtc") != mapped_before) return 4;
              }
              auto served = Runtime::open(options).value();
              if (served.compile(program, target).value().origin != Origin::local) return 5;
              return children().empty() && std::filesystem::is_empty(scratch / "temporary") ? 0 : 6;
            }),
            0);
}

TEST(Host, AWorkerMakesTheSameBytes) {
  EXPECT_EQ(run_in_child([] {
              const ScratchDirectory scratch;
              for (const auto kind : {ImageKind::cubin, ImageKind::ptx, ImageKind::ltoir}) {
                const auto target = Target::parse("sm_90", kind).value();
                const auto program = program_with("k.cu", {"-lineinfo"});
                const auto in_worker =
                    fresh_runtime(scratch / (std::string("a") + to_string(kind)), 1)
                        .compile(program, target)
                        .value();
                const auto here = fresh_runtime(scratch / (std::string("b") + to_string(kind)), 0)
                                      .compile(program, target)
                                      .value();
                if (in_worker.key != here.key || in_worker.image != here.image ||
                    in_worker.kernels != here.kernels || in_worker.log != here.log) {
                  return 1;
                }
              }
              return 0;
            }),
            0);
}

TEST(Host, AWorkerStandsWhereItDoes) {
  EXPECT_EQ(run_in_child([] {
              const ScratchDirectory scratch;
              auto runtime = fresh_runtime(scratch / "cache", 1);
              const auto target = Target::parse("sm_90").value();
              // Which the debugger's information tells.
              for (const char* name : {"here", "there"}) {
                const auto folder = scratch / name;
                std::filesystem::create_directory(folder);
                std::filesystem::current_path(folder);
                const auto program = program_with(name + std::string(".cu"), {"-G"});
                const auto artifact = runtime.compile(program, target).value();
                if (artifact.image.string().find(folder.string()) == std::string::npos) return 1;
              }
              return 0;
            }),
            0);
}

// As where a user was put into a folder of somebody else, who may not go there by its name.
TEST(Host, WhereAWorkerCannotStandItCompilesItself) {
  EXPECT_EQ(run_in_child([] {
              const ScratchDirectory scratch;
              std::filesystem::current_path(scratch.path());
              for (int depth = 0; depth < 30; ++depth) {
                const std::string name(200, 'd');  // In all more than a path may have.
                std::filesystem::create_directory(name);
                std::filesystem::current_path(name);
              }
              Pool pool(1);
              const auto outcome = pool.run(plain_job(1));
              const bool told = pool.warnings().find("cannot go to the working directory '/") !=
                                std::string::npos;
              std::filesystem::current_path("/");
              return outcome && told ? 0 : 1;
            }),
            0);
}

TEST(Host, VariablesOfTheCompilerReachNeitherWorkerNorKey) {
  EXPECT_EQ(run_in_child([] {
              const bool mapped_before = is_mapped("libnvrtc");
              const ScratchDirectory scratch;
              RuntimeOptions options;
              options.cache_directory = scratch / "cache";
              options.compile_workers = 1;
              const auto program = Program::make({.name = "k.cu",
                                                  .source = "__global__ void kernel() {}",
                                                  .headers = {},
                                                  .kernels = {"kernel"},
                                                  .options = {}})
                                       .value();
              const auto target = Target::parse("sm_80").value();
              auto plain = Runtime::open(options).value();
              const auto first = plain.compile(program, target).value();
              // Would fail any compile that it reaches.
              const ScopedVariable variable("NVRTC_APPEND_FLAGS", "--this-is-no-option");
              options.cache_directory = scratch / "other";
              auto with_variable = Runtime::open(options).value();
              const auto second = with_variable.compile(program, target).value();
              if (second.origin != Origin::compiled || first.key != second.key) return 1;
              for (const auto worker : children()) {
                const auto environment = text_of(fmt::format("/proc/{}/environ", worker));
                if (environment.find("NVRTC_APPEND_FLAGS") != std::string::npos) return 2;
              }
              // And the compiler is nowhere in this process.
              return is_mapped("libnvrtc") == mapped_before ? 0 : 3;
            }),
            0);
}

}  // namespace
}  // namespace kiln::test
