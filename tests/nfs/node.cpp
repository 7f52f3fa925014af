// kiln_nfs_node: one machine's part of a fleet, with the cache and the stores that the environment names.
//
//   KILN_CACHE_DIR=/mnt/kernels kiln_nfs_node --processes 8 --keys 32 --statements 40
//
// Each process compiles something of its own first. Then "ready" is printed, and all begin with a line on standard input, or its
// end. What becomes of that is told in one line of JSON. What all machines are to have equal is `images`, a digest of every image of every process; it is
// empty where two processes of this machine had different ones. It fails where a compile does.

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kiln/kiln.h"
#include "kiln/remote.h"

namespace kiln::test {
namespace {

using Clock = std::chrono::steady_clock;

struct Node {
  int processes = 8;
  int keys = 32;
  int statements = 40;  ///< Of each kernel.
};

/// What one process tells when it is done.
struct Told {
  std::uint64_t compiles = 0;
  std::uint64_t remote_hits = 0;
  std::uint64_t lease_waits = 0;
  std::uint64_t failures = 0;
  std::uint64_t server_failures = 0;
  std::uint64_t slow = 0;  ///< Answers of the store that came too late.
};
constexpr std::size_t most_keys = 64;
struct Report {
  Told told;
  std::array<Digest, most_keys> images{};
};

// The optimiser takes its time, as it does for real kernels.
std::string source_of(const Node& node, int key) {
  auto source =
      fmt::format("__global__ void k(float* x) {{\n  float a = x[threadIdx.x] + {}.f;\n", key);
  for (int at = 0; at < node.statements; ++at)
    source +=
        fmt::format("  a = a * x[{}] + (a > {}.f ? x[{}] : a);\n", at % 97, at, (at * 7) % 89);
  return source + "  x[threadIdx.x] = a;\n}\n";
}

/// Where the processes of a machine wait until it is told to begin.
class Gate {
 public:
  Gate() {
    if (::pipe(arrived_.data()) != 0 || ::pipe(opened_.data()) != 0) std::abort();
  }

  /// Of a process: returns once it is open.
  void pass() const {
    ::close(opened_[1]);
    char byte = 0;
    if (::write(arrived_[1], &byte, 1) != 1 || ::read(opened_[0], &byte, 1) != 0) std::abort();
  }

  void open_for(int processes) const {
    char byte = 0;
    for (int at = 0; at < processes; ++at) {
      if (::read(arrived_[0], &byte, 1) != 1) std::abort();
    }
    std::cout << "ready" << std::endl;
    std::string line;
    std::getline(std::cin, line);
    ::close(opened_[1]);
  }

 private:
  std::array<int, 2> arrived_{};
  std::array<int, 2> opened_{};
};

/// Compiler and workers are there afterwards.
void warm_up(Runtime& runtime, int process) {
  const auto program = Program::make({.name = "warm.cu",
                                      .source = fmt::format("__global__ void w{}() {{}}", process),
                                      .kernels = {fmt::format("w{}", process)},
                                      .keep = false})
                           .value();
  if (const auto made = runtime.compile(program, "sm_80"); !made)
    std::cerr << made.error().message << '\n';
}

Report work(const Node& node, int process, const Gate& gate) {
  Report report;
  auto opened = Runtime::open();
  if (!opened) {
    std::cerr << opened.error().message << '\n';
    report.told.failures = static_cast<std::uint64_t>(node.keys);
    gate.pass();
    return report;
  }
  auto& runtime = *opened;
  warm_up(runtime, process);
  const auto before = runtime.counters().compiles;
  gate.pass();
  // All in the same order, as the ranks of an engine: both machines want the same at once.
  for (int key = 0; key < node.keys; ++key) {
    const auto program =
        Program::make({.name = "node.cu", .source = source_of(node, key), .kernels = {"k"}})
            .value();
    const auto artifact = runtime.compile(program, "sm_80");
    if (artifact) {
      report.images[static_cast<std::size_t>(key)] = digest_of(artifact->image);
    } else {
      ++report.told.failures;
      std::cerr << artifact.error().message << '\n';
    }
  }
  const auto counters = runtime.counters();
  report.told.compiles = counters.compiles - before;
  report.told.remote_hits = counters.remote_hits;
  report.told.lease_waits = counters.lease_waits;
  // Of the machine: one of its processes tells.
  const auto stores = runtime.remotes(false);
  if (process == 0 && !stores.empty() && stores.front().status) {
    const auto& status = *stores.front().status;
    report.told.server_failures = status.failures;
    report.told.slow = status.slow;
    std::cerr << fmt::format(
        "the store: {} us a call, {} leases, {} asked, {} pushed, {} of them there already, {} "
        "dropped, {} waiting; it failed {} times: {}\n",
        status.round_trip_us, status.gives_leases ? "gives" : "gives no", status.asked,
        status.pushed, status.duplicates, status.dropped, status.waiting, status.failures,
        status.last_failure);
  }
  return report;
}

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

std::vector<std::pair<pid_t, int>> start(const Node& node, const Gate& gate) {
  std::vector<std::pair<pid_t, int>> children;
  for (int process = 0; process < node.processes; ++process) {
    std::array<int, 2> answer{};
    if (::pipe(answer.data()) != 0) std::abort();
    const pid_t child = ::fork();
    if (child == 0) {
      const auto report = work(node, process, gate);
      ::_exit(::write(answer[1], &report, sizeof report) == sizeof report ? 0 : 1);
    }
    ::close(answer[1]);
    children.emplace_back(child, answer[0]);
  }
  return children;
}

int run(const Node& node) {
  const Gate gate;
  const auto children = start(node, gate);
  gate.open_for(node.processes);
  const auto began = Clock::now();
  Told sum;
  std::vector<Report> reports;
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
    reports.push_back(report);
  }
  const std::chrono::duration<double> took = Clock::now() - began;
  std::string images;
  bool equal = !reports.empty();
  for (const auto& report : reports) equal &= report.images == reports.front().images;
  if (equal) {
    std::string all;
    for (const auto& image : reports.front().images) all += image.hex();
    images = digest_of(all).hex();
  }
  fmt::print(
      "{{\"compiles\":{},\"remote_hits\":{},\"lease_waits\":{},\"failures\":{},"
      "\"server_failures\":{},\"slow\":{},\"images\":\"{}\",\"seconds\":{:.1f}}}\n",
      sum.compiles, sum.remote_hits, sum.lease_waits, sum.failures, sum.server_failures, sum.slow,
      images, took.count());
  return sum.failures == 0 && equal ? 0 : 1;
}

int main_of(const std::vector<std::string>& words) {
  Node node;
  for (std::size_t at = 0; at + 1 < words.size(); at += 2) {
    const auto value = std::stoi(words[at + 1]);
    if (words[at] == "--processes") {
      node.processes = value;
    } else if (words[at] == "--keys") {
      node.keys = value;
    } else if (words[at] == "--statements") {
      node.statements = value;
    }
  }
  if (node.keys < 1 || node.keys > static_cast<int>(most_keys) || node.processes < 1) {
    std::cerr << "usage: kiln_nfs_node [--processes N] [--keys N, at most 64] [--statements N]\n";
    return 2;
  }
  return run(node);
}

}  // namespace
}  // namespace kiln::test

int main(int argc, char** argv) { return kiln::test::main_of({argv + 1, argv + argc}); }
