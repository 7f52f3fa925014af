#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "kiln/cache.h"

namespace kiln::storage {

/// Counts what a Cache does. Safe from any thread.
class Tally {
 public:
  void add(Counter counter, std::uint64_t amount = 1) noexcept {
    values_[static_cast<std::size_t>(counter)].fetch_add(amount, std::memory_order_relaxed);
  }
  [[nodiscard]] CacheCounters now() const noexcept;

 private:
  std::array<std::atomic<std::uint64_t>, counter_count> values_{};
};

/// Adds counter by counter; one that would exceed its range stays at its greatest.
void add(CacheCounters& sum, const CacheCounters& more) noexcept;

/// What `now` has more than `before`, counter by counter.
[[nodiscard]] CacheCounters difference(const CacheCounters& now,
                                       const CacheCounters& before) noexcept;

/// The counter of a failure. `system_error` is the errno behind it, or 0.
[[nodiscard]] Counter counter_of_failure(int sqlite_code, int system_error) noexcept;

/// The counter of this name; counter_count for a name of a later version.
[[nodiscard]] std::size_t counter_of_name(std::string_view name) noexcept;

/// Tells the callback of each kind of fault once.
class Faults {
 public:
  explicit Faults(FaultCallback tell) : tell_(std::move(tell)) {}
  void tell(Counter kind, std::string_view line);

 private:
  FaultCallback tell_;
  std::array<std::atomic<bool>, counter_count> told_{};
};

}  // namespace kiln::storage
