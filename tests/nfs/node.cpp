// kiln_nfs_node: one machine's part of a fleet, with the cache and the stores that the environment names.
//
//   KILN_CACHE_DIR=/mnt/kernels kiln_nfs_node --processes 8 --keys 32 --statements 40
//
// Each process compiles something of its own first. Then "ready" is printed, and all begin with a line on standard input, or its
// end. What becomes of that is told in one line of JSON. What all machines are to have equal is `images`, a digest of every image
// of every process; it is empty where two processes of this machine had different ones. It fails where a compile does.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "kiln/kiln.h"
#include "kiln/remote.h"
#include "support/fleet_processes.h"

namespace kiln::test {
namespace {

using Clock = std::chrono::steady_clock;

struct Node {
  int processes = 8;
  int keys = 32;
  int statements = 40;  ///< Of each kernel.
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

// A machine stays up behind its last compile. One whose helper is ended amid its last push leaves the others waiting in vain.
void wait_until_all_is_pushed() {
  constexpr auto longest = std::chrono::minutes(1);
  auto runtime = Runtime::open();
  if (!runtime) return;
  RemoteStatus status;
  for (const auto began = Clock::now(); Clock::now() - began < longest;) {
    const auto stores = runtime->remotes(false);
    if (stores.empty()) return;
    if (const auto& told = stores.front().status) {
      status = *told;
      if (status.waiting == 0) break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  std::cerr << fmt::format(
      "the store: {} us a call, {} leases, {} asked, {} pushed, {} of them there already, {} "
      "dropped, {} waiting; it failed {} times: {}\n",
      status.round_trip_us, status.gives_leases ? "gives" : "gives no", status.asked, status.pushed,
      status.duplicates, status.dropped, status.waiting, status.failures, status.last_failure);
}

Report work(const Node& node, int process, const Gate& gate) {
  auto runtime = Runtime::open();
  if (!runtime) std::cerr << runtime.error().message << '\n';
  if (runtime) warm_up(*runtime, process);
  gate.pass();
  if (!runtime) return {.told = {.failures = static_cast<std::uint64_t>(node.keys)}};
  // All in the same order, as the ranks of an engine: both machines want the same at once.
  return work_on(*runtime, {node.keys, node.statements}, process == 0);
}

int run(const Node& node) {
  const Gate gate;
  std::vector<FleetProcess> processes;
  for (int process = 0; process < node.processes; ++process)
    processes.emplace_back([&] { return work(node, process, gate); });
  gate.wait_for(processes.size());
  std::cout << "ready" << std::endl;
  std::string line;
  std::getline(std::cin, line);
  const auto began = Clock::now();
  gate.open();
  Told sum;
  std::vector<Report> reports;
  for (const auto& process : processes) {
    if (const auto report = process.report()) {
      sum.add(report->told);
      reports.push_back(*report);
    } else {
      ++sum.failures;
    }
  }
  const std::chrono::duration<double> took = Clock::now() - began;
  wait_until_all_is_pushed();
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
