#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace kiln::storage {

/// The naps of a thread that polls for a lock. Many that wait at once would take the processor from the one they wait for. Then
/// they are woken late, and each sleeps twice as long as it was late before.
class Naps {
 public:
  /// Sleeps for so long, or longer.
  void take(std::chrono::microseconds wanted) {
    const auto nap = std::max<Clock::duration>(wanted, late_);
    const auto begin = Clock::now();
    std::this_thread::sleep_for(nap);
    late_ = std::min<Clock::duration>(2 * (Clock::now() - begin - nap), longest);
  }

 private:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::milliseconds longest{20};
  Clock::duration late_{};
};

}  // namespace kiln::storage
