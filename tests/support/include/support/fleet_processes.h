#pragma once

// Processes of a fleet that compile the same kernels, and what each of them tells of it.

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "kiln/kiln.h"
#include "kiln/remote.h"

namespace kiln::test {

/// What one process counted, or several.
struct Told {
  std::uint64_t compiles = 0;
  std::uint64_t remote_hits = 0;
  std::uint64_t lease_waits = 0;
  std::uint64_t failures = 0;
  std::uint64_t server_failures = 0;
  std::uint64_t slow = 0;  ///< Answers of the store that came too late.

  void add(const Told& other) {
    compiles += other.compiles;
    remote_hits += other.remote_hits;
    lease_waits += other.lease_waits;
    failures += other.failures;
    server_failures += other.server_failures;
    slow += other.slow;
  }
};

constexpr std::size_t most_keys = 64;

/// What a process tells when it is done; written to a pipe as it is.
struct Report {
  Told told;
  std::array<Digest, most_keys> images{};
};

/// Which kernels, and where a process begins.
struct FleetWork {
  int keys = 4;
  int statements = 100;  ///< Of each kernel.
  int first = 0;
};

// The optimiser takes its time, as it does for real kernels.
inline std::string source_of(int statements, int key) {
  auto source =
      fmt::format("__global__ void k(float* x) {{\n  float a = x[threadIdx.x] + {}.f;\n", key);
  for (int at = 0; at < statements; ++at)
    source +=
        fmt::format("  a = a * x[{}] + (a > {}.f ? x[{}] : a);\n", at % 97, at, (at * 7) % 89);
  return source + "  x[threadIdx.x] = a;\n}\n";
}

/// Compiles each kernel. Failures are told on standard error too. Of what the whole machine shares, one of its processes tells.
inline Report work_on(Runtime& runtime, const FleetWork& work, bool tells_of_machine) {
  Report report;
  const auto compiles_before = runtime.counters().compiles;
  for (int step = 0; step < work.keys; ++step) {
    const int key = (step + work.first) % work.keys;
    const auto program =
        Program::make(
            {.name = "fleet.cu", .source = source_of(work.statements, key), .kernels = {"k"}})
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
  report.told.compiles = counters.compiles - compiles_before;
  report.told.remote_hits = counters.remote_hits;
  report.told.lease_waits = counters.lease_waits;
  const auto stores = runtime.remotes(false);
  if (tells_of_machine && !stores.empty() && stores.front().status) {
    report.told.server_failures = stores.front().status->failures;
    report.told.slow = stores.front().status->slow;
  }
  return report;
}

/// Where processes wait until all are there and it is opened.
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

  void wait_for(std::size_t processes) const {
    char byte = 0;
    for (std::size_t at = 0; at < processes; ++at) {
      if (::read(arrived_[0], &byte, 1) != 1) std::abort();
    }
  }
  void open() const { ::close(opened_[1]); }

 private:
  std::array<int, 2> arrived_{};
  std::array<int, 2> opened_{};
};

/// A process that makes a report.
class FleetProcess {
 public:
  template <class Work>
  explicit FleetProcess(Work&& work) {
    std::array<int, 2> answer{};
    if (::pipe(answer.data()) != 0) std::abort();
    id_ = ::fork();
    if (id_ == 0) {
      const Report report = work();
      ::_exit(::write(answer[1], &report, sizeof report) == sizeof report ? 0 : 1);
    }
    ::close(answer[1]);
    answer_ = answer[0];
  }

  /// Waits for it. Nothing where it did not come to its end.
  [[nodiscard]] std::optional<Report> report() const {
    Report report;
    auto* const bytes = reinterpret_cast<char*>(&report);
    std::size_t size = 0;
    while (size < sizeof report) {
      const auto count = ::read(answer_, bytes + size, sizeof report - size);
      if (count <= 0) break;
      size += static_cast<std::size_t>(count);
    }
    int status = 0;
    ::waitpid(id_, &status, 0);
    return size == sizeof report && status == 0 ? std::optional(report) : std::nullopt;
  }

 private:
  pid_t id_ = -1;
  int answer_ = -1;
};

}  // namespace kiln::test
