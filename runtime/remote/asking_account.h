#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

namespace kiln {

/// Whether it pays this process to ask a store: that may cost a second, and from then on a quarter of what it compiles and all that
/// it is spared. So a server that is slow and never fails costs little, however many kernels there are. Who compiles nothing, maybe
/// since there is no compiler, has nothing to weigh it against. Safe to use from any thread.
class AskingAccount {
 public:
  using Microseconds = std::chrono::microseconds;

  /// An answer may cost this much; and of what a compile takes, this part.
  static constexpr Microseconds most_at_once = std::chrono::milliseconds(250);
  static constexpr int worth_of_a_compile = 4;

  /// Nothing is asked until one answer is paid for.
  [[nodiscard]] bool pays() const noexcept { return !compiles_ || left_.load() >= most_at_once; }

  void spend(Microseconds waited) noexcept { add(-waited); }
  void earn_compiled(Microseconds compile) noexcept {
    add(compile / worth_of_a_compile);
    compiles_ = true;
  }
  void earn_spared(Microseconds compile) noexcept { add(compile); }

 private:
  static constexpr Microseconds most = std::chrono::seconds(1);

  // Before the first compile nobody can tell what it will be worth.
  void add(Microseconds time) noexcept {
    const auto least = compiles_ ? Microseconds::min() : -most;
    auto had = left_.load();
    while (!left_.compare_exchange_weak(had, std::clamp(had + time, least, most))) {
    }
  }

  std::atomic<Microseconds> left_{most};
  std::atomic<bool> compiles_{false};
};

}  // namespace kiln
