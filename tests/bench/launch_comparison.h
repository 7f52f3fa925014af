#pragma once

#include <chrono>
#include <cstddef>
#include <cstdlib>

#include <benchmark/benchmark.h>

#include "launch/allocations.h"
#include "timing.h"

namespace kiln::bench {

// Two ways to launch one kernel, measured in turns, in batches.

/// How many launches are timed together: fewer than a stream of CUDA takes before a launch waits.
constexpr int batch = 500;

template <class Launch>
void launch_batch(const Launch& launch) {
  for (int index = 0; index < batch; ++index) {
    if (!launch()) std::abort();
    benchmark::ClobberMemory();
  }
}

/// Nanoseconds a launch, and how often each asked for memory.
class LaunchTimes {
 public:
  template <class Launch>
  double measure(const Launch& launch) {
    const std::size_t before = allocation_count();
    const auto begin = Clock::now();
    launch_batch(launch);
    const std::chrono::duration<double, std::nano> time = Clock::now() - begin;
    allocations_ += allocation_count() - before;
    // Times speaks of microseconds; the unit is the caller's.
    times_.add_microseconds(time.count() / batch);
    return time.count() / batch;
  }

  [[nodiscard]] double p50() const { return times_.p50(); }
  [[nodiscard]] double allocations() const {
    return static_cast<double>(allocations_) / static_cast<double>(times_.values().size()) / batch;
  }

 private:
  Times times_;
  std::size_t allocations_ = 0;
};

/// Runs both sides in turns and reports them. `settle` comes before each batch and is not measured.
template <class Theirs, class Ours, class Settle>
void compare(benchmark::State& state, const Theirs& theirs, const Ours& ours,
             const Settle& settle) {
  LaunchTimes their_side;
  LaunchTimes our_side;
  launch_batch(theirs);
  settle();
  launch_batch(ours);
  for ([[maybe_unused]] auto iteration : state) {
    settle();
    const double their_time = their_side.measure(theirs);
    settle();
    const double our_time = our_side.measure(ours);
    state.SetIterationTime(1e-9 * batch * (their_time + our_time));
  }
  state.counters["kiln_p50"] = our_side.p50();
  state.counters["other_p50"] = their_side.p50();
  state.counters["difference"] = our_side.p50() - their_side.p50();
  state.counters["other_over_kiln"] = their_side.p50() / our_side.p50();
  state.counters["kiln_allocations"] = our_side.allocations();
  state.counters["other_allocations"] = their_side.allocations();
}

template <class Theirs, class Ours>
void compare(benchmark::State& state, const Theirs& theirs, const Ours& ours) {
  compare(state, theirs, ours, [] {});
}

}  // namespace kiln::bench
