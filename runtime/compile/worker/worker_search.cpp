#include "compile/worker/worker_search.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace kiln {

namespace {

namespace fs = std::filesystem;

// A kernel over CUB takes a third of it, its precompiled header the rest.
constexpr std::uint64_t memory_of_a_worker = std::uint64_t{1} << 30;

std::size_t cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // It fails where the machine has more cores than the set has room for.
  if (::sched_getaffinity(0, sizeof set, &set) != 0) {
    return static_cast<std::size_t>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L));
  }
  return static_cast<std::size_t>(std::max(CPU_COUNT(&set), 1));
}

// The compiler needs so much address space for large kernels of engines.
constexpr std::uint64_t least_share = std::uint64_t{4} << 30;

// `name` begins a line of the file: "MemTotal:", for one.
std::uint64_t memory_of_machine(std::string_view name) {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name)) return std::strtoull(line.c_str() + name.size(), nullptr, 10) << 10;
  }
  return std::numeric_limits<std::uint64_t>::max();
}

// What the container may use, if this is one.
std::uint64_t group_memory() {
  std::ifstream file("/sys/fs/cgroup/memory.max");
  std::uint64_t bytes = 0;
  return file >> bytes ? bytes : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

HelperSearch find_worker(const std::optional<fs::path>& exact) {
  return find_helper("kiln-worker", "KILN_WORKER", exact);
}

std::string describe_missing(const HelperSearch& search) {
  return fmt::format(
      "kiln-worker: not found, so everything is compiled in this process. Looked at:\n{}\n"
      "Install it beside the library, or name it with KILN_WORKER",
      vendor::describe(search.steps));
}

bool asks_for_workers(const Settings& settings) {
  if (settings.compile_workers == 0) return false;
  const auto by_somebody = [](const Setting& setting) {
    return setting.variable == "KILN_COMPILE_WORKERS" && setting.origin != "default";
  };
  return settings.worker ||
         std::any_of(settings.listing.begin(), settings.listing.end(), by_somebody);
}

std::size_t workers_for(unsigned wanted) {
  if (wanted != automatic_workers) return wanted;
  const auto for_memory =
      std::min(memory_of_machine("MemAvailable:"), group_memory()) / memory_of_a_worker;
  return std::clamp<std::size_t>(for_memory, 1, cores());
}

std::uint64_t most_address_space() {
  rlimit limit{};
  const bool told = ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_max != RLIM_INFINITY;
  return told ? limit.rlim_max : std::numeric_limits<std::uint64_t>::max();
}

WorkerMemory memory_for(std::uint64_t wanted, std::size_t workers) {
  const auto most = most_address_space();
  const auto memory =
      memory_for(wanted, workers, std::min(memory_of_machine("MemTotal:"), group_memory()));
  return {std::min(memory.usual, most), std::min(memory.most, most)};
}

WorkerMemory memory_for(std::uint64_t wanted, std::size_t workers, std::uint64_t machine) {
  if (wanted != automatic_memory) return {wanted, wanted};
  return {std::max(machine / workers, least_share), std::max(machine, least_share)};
}

}  // namespace kiln
