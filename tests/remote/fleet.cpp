// kiln_fleet: machines that start together and need the same kernels, as processes of this one. Each machine has a cache and a
// kiln-remote of its own; all share the store of a URL. By hand:
//
//   kiln_fleet --url redis://127.0.0.1:6379 --machines 16 --processes 8 --keys 32 --statements 700
//
// Without a URL they share a folder of this run's own. It fails where a compile does, where two machines have other images, and where
// something was compiled twice although the server always answered in time. It prints one line of JSON: how long it took from the moment when all stood, and what it took in all.

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "kiln/kiln.h"
#include "kiln/remote.h"
#include "support/scratch.h"

namespace kiln::test {
namespace {

using Clock = std::chrono::steady_clock;

struct Fleet {
  std::string url = {};  ///< Empty for a folder of the run's own.
  int machines = 2;
  int processes = 2;
  int keys = 4;
  int statements = 100;  ///< Of each kernel.
};

/// What one process tells when it is done.
struct Told {
  std::uint64_t compiles = 0;
  std::uint64_t remote_hits = 0;
  std::uint64_t lease_waits = 0;
  std::uint64_t failures = 0;
  std::uint64_t server_failures = 0;
  std::uint64_t slow = 0;  ///< Answers of the server that came too late.
};
constexpr std::size_t most_keys = 64;
struct Report {
  Told told;
  std::array<Digest, most_keys> images{};
};

// The optimiser takes its time, as it does for real kernels.
std::string source_of(const Fleet& fleet, int key) {
  auto source =
      fmt::format("__global__ void k(float* x) {{\n  float a = x[threadIdx.x] + {}.f;\n", key);
  for (int at = 0; at < fleet.statements; ++at)
    source +=
        fmt::format("  a = a * x[{}] + (a > {}.f ? x[{}] : a);\n", at % 97, at, (at * 7) % 89);
  return source + "  x[threadIdx.x] = a;\n}\n";
}

Report work(const Fleet& fleet, const std::filesystem::path& cache, int machine, int process) {
  Report report;
  RuntimeOptions options;
  options.cache_directory = cache;
  options.compile_workers = 1;
  // A helper serves one introduction: so each machine has its own.
  options.remotes =
      fmt::format("{}{}timeout={}", fleet.url, fleet.url.find('?') == std::string::npos ? "?" : "&",
                  2000 + machine);
  auto runtime = Runtime::open(options).value();
  for (int step = 0; step < fleet.keys; ++step) {
    const int key = (step + process * fleet.keys / fleet.processes) % fleet.keys;
    const auto program =
        Program::make({.name = "fleet.cu", .source = source_of(fleet, key), .kernels = {"k"}})
            .value();
    const auto artifact = runtime.compile(program, "sm_80");
    if (artifact) {
      report.images[key] = digest_of(artifact->image);
    } else {
      ++report.told.failures;
      std::cerr << artifact.error().message << '\n';
    }
  }
  const auto counters = runtime.counters();
  report.told.compiles = counters.compiles;
  report.told.remote_hits = counters.remote_hits;
  report.told.lease_waits = counters.lease_waits;
  // Of the machine: one of its processes tells.
  const auto status = runtime.remotes(false).at(0).status;
  if (status && process == 0) {
    report.told.server_failures = status->failures;
    report.told.slow = status->slow;
  }
  return report;
}

struct Pipe {
  Pipe() {
    if (::pipe(ends.data()) != 0) std::abort();
  }
  std::array<int, 2> ends{};
};

template <class T>
bool receive(int from, T& value) {
  auto* bytes = reinterpret_cast<char*>(&value);
  for (std::size_t size = 0; size < sizeof value;) {
    const auto count = ::read(from, bytes + size, sizeof value - size);
    if (count <= 0) return false;
    size += static_cast<std::size_t>(count);
  }
  return true;
}

int run(Fleet fleet) {
  const ScratchDirectory scratch;
  if (fleet.url.empty()) fleet.url = "file://" + (scratch / "store").string();
  Pipe ready;
  Pipe go;
  std::vector<std::pair<pid_t, int>> children;
  for (int machine = 0; machine < fleet.machines; ++machine) {
    for (int process = 0; process < fleet.processes; ++process) {
      Pipe answer;
      const pid_t child = ::fork();
      if (child == 0) {
        char byte = 0;
        ::close(go.ends[1]);
        if (::write(ready.ends[1], "r", 1) != 1 || ::read(go.ends[0], &byte, 1) != 0) ::_exit(1);
        const auto report =
            work(fleet, scratch / fmt::format("machine{}", machine), machine, process);
        ::_exit(::write(answer.ends[1], &report, sizeof report) == sizeof report ? 0 : 1);
      }
      ::close(answer.ends[1]);
      children.emplace_back(child, answer.ends[0]);
    }
  }
  for (std::size_t at = 0; at < children.size(); ++at) {
    char byte = 0;
    if (::read(ready.ends[0], &byte, 1) != 1) return 1;
  }
  const auto began = Clock::now();
  ::close(go.ends[1]);
  Told sum;
  std::vector<std::set<Digest>> images(static_cast<std::size_t>(fleet.keys));
  for (const auto& [child, answer] : children) {
    Report report;
    int status = 0;
    const bool whole = receive(answer, report);
    ::waitpid(child, &status, 0);
    if (!whole || status != 0) {
      ++sum.failures;
      continue;
    }
    sum.compiles += report.told.compiles;
    sum.remote_hits += report.told.remote_hits;
    sum.lease_waits += report.told.lease_waits;
    sum.failures += report.told.failures;
    sum.server_failures += report.told.server_failures;
    sum.slow += report.told.slow;
    for (std::size_t key = 0; key < images.size(); ++key) images[key].insert(report.images[key]);
  }
  const std::chrono::duration<double> took = Clock::now() - began;
  bool equal = true;
  for (const auto& of_key : images) equal &= of_key.size() == 1;
  fmt::print(
      "{{\"machines\":{},\"processes\":{},\"keys\":{},\"seconds\":{:.2f},\"compiles\":{},"
      "\"remote_hits\":{},\"lease_waits\":{},\"failures\":{},\"server_failures\":{},\"slow\":{},"
      "\"equal\":{}}}\n",
      fleet.machines, fleet.processes, fleet.keys, took.count(), sum.compiles, sum.remote_hits,
      sum.lease_waits, sum.failures, sum.server_failures, sum.slow, equal);
  const bool in_time = sum.server_failures == 0 && sum.slow == 0;
  const bool once = sum.compiles == static_cast<std::uint64_t>(fleet.keys);
  return sum.failures == 0 && equal && (once || !in_time) ? 0 : 1;
}

int main_of(const std::vector<std::string>& words) {
  Fleet fleet;
  for (std::size_t at = 0; at + 1 < words.size(); at += 2) {
    const auto& value = words[at + 1];
    if (words[at] == "--url") {
      fleet.url = value;
    } else if (words[at] == "--machines") {
      fleet.machines = std::stoi(value);
    } else if (words[at] == "--processes") {
      fleet.processes = std::stoi(value);
    } else if (words[at] == "--keys") {
      fleet.keys = std::stoi(value);
    } else if (words[at] == "--statements") {
      fleet.statements = std::stoi(value);
    }
  }
  if (fleet.keys < 1 || fleet.keys > static_cast<int>(most_keys)) {
    std::cerr
        << "usage: kiln_fleet [--url URL] [--machines N] [--processes N] [--keys N, at most 64] "
           "[--statements N]\n";
    return 2;
  }
  return run(fleet);
}

}  // namespace
}  // namespace kiln::test

int main(int argc, char** argv) { return kiln::test::main_of({argv + 1, argv + argc}); }
