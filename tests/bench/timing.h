#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace kiln::bench {

using Clock = std::chrono::steady_clock;

/// What single operations took. Microseconds.
class Times {
 public:
  /// Runs `work` and keeps how long it took; what it gives lives until after that.
  template <class Work>
  void measure(Work&& work) {
    const auto begin = Clock::now();
    const auto result = work();
    add(Clock::now() - begin);
    static_cast<void>(result);
  }

  void add(Clock::duration time) {
    values_.push_back(std::chrono::duration<double, std::micro>(time).count());
  }
  void add_microseconds(double time) { values_.push_back(time); }

  /// The time that this share of the operations did not exceed. REQUIRES: there are some.
  [[nodiscard]] double quantile(double share) const {
    auto values = values_;
    const auto at = std::min(values.size() - 1,
                             static_cast<std::size_t>(share * static_cast<double>(values.size())));
    const auto place = values.begin() + static_cast<std::ptrdiff_t>(at);
    std::nth_element(values.begin(), place, values.end());
    return *place;
  }
  [[nodiscard]] double p50() const { return quantile(0.5); }
  [[nodiscard]] double p99() const { return quantile(0.99); }

  [[nodiscard]] const std::vector<double>& values() const { return values_; }

 private:
  std::vector<double> values_;
};

}  // namespace kiln::bench
