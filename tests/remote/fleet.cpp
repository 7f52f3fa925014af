// kiln_fleet: machines that start together and need the same kernels, as processes of this one. Each machine has a cache and a
// kiln-remote of its own; all share the store of a URL. By hand:
//
//   kiln_fleet --url redis://127.0.0.1:6379 --machines 16 --processes 8 --keys 32 --statements 700
//
// Without a URL they share a folder of this run's own. It fails where a compile does, where two machines have other images, and where
// something was compiled twice although the server always answered in time; with `--leases none`, of a server that gives none, where
// one machine compiled something twice. It prints one line of JSON: how long it took from the moment when all stood, and what it took
// in all.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "kiln/kiln.h"
#include "support/fleet_processes.h"
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
  bool leases = true;    ///< Whether the server gives any.
};

/// Stands once it has its runtime and its machine's helper, which has reached the store.
Report work(const Fleet& fleet, const std::filesystem::path& cache, int machine, int process,
            const Gate& gate) {
  RuntimeOptions options;
  options.cache_directory = cache;
  options.compile_workers = 1;
  // A helper serves one introduction: so each machine has its own.
  options.remotes =
      fmt::format("{}{}timeout={}", fleet.url, fleet.url.find('?') == std::string::npos ? "?" : "&",
                  2000 + machine);
  auto runtime = Runtime::open(options).value();
  static_cast<void>(runtime.remotes(true));
  gate.pass();
  const int first = process * fleet.keys / fleet.processes;
  return work_on(runtime, {fleet.keys, fleet.statements, first}, process == 0);
}

int run(Fleet fleet) {
  const ScratchDirectory scratch;
  if (fleet.url.empty()) fleet.url = "file://" + (scratch / "store").string();
  const Gate gate;
  std::vector<FleetProcess> processes;
  for (int machine = 0; machine < fleet.machines; ++machine) {
    for (int process = 0; process < fleet.processes; ++process) {
      processes.emplace_back([&] {
        return work(fleet, scratch / fmt::format("machine{}", machine), machine, process, gate);
      });
    }
  }
  gate.wait_for(processes.size());
  const auto began = Clock::now();
  gate.open();
  Told sum;
  std::vector<std::set<Digest>> images(static_cast<std::size_t>(fleet.keys));
  std::vector<std::uint64_t> compiles(static_cast<std::size_t>(fleet.machines));
  for (std::size_t at = 0; at < processes.size(); ++at) {
    const auto report = processes[at].report();
    if (!report) {
      ++sum.failures;
      continue;
    }
    sum.add(report->told);
    compiles[at / static_cast<std::size_t>(fleet.processes)] += report->told.compiles;
    for (std::size_t key = 0; key < images.size(); ++key) images[key].insert(report->images[key]);
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
  const auto keys = static_cast<std::uint64_t>(fleet.keys);
  const bool once = fleet.leases ? sum.compiles == keys : std::ranges::max(compiles) <= keys;
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
    } else if (words[at] == "--leases") {
      fleet.leases = value != "none";
    }
  }
  if (fleet.keys < 1 || fleet.keys > static_cast<int>(most_keys)) {
    std::cerr
        << "usage: kiln_fleet [--url URL] [--machines N] [--processes N] [--keys N, at most 64] "
           "[--statements N] [--leases none]\n";
    return 2;
  }
  return run(fleet);
}

}  // namespace
}  // namespace kiln::test

int main(int argc, char** argv) { return kiln::test::main_of({argv + 1, argv + argc}); }
