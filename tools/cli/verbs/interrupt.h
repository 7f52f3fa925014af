#pragma once

#include <atomic>
#include <csignal>
#include <stop_token>
#include <thread>

namespace kiln::cli {

/// While this lives, SIGINT and SIGTERM ask for a stop instead of ending the process; a second one ends
/// it at once. To be made before any thread is started: they are blocked in all of them, so that the
/// compiler's own handlers do not get them either.
class Interrupt {
 public:
  Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt();

  [[nodiscard]] std::stop_token token() const noexcept { return stop_.get_token(); }

  /// The signal that came; 0 for none.
  [[nodiscard]] int signal() const noexcept { return signal_; }

 private:
  void wait();

  sigset_t signals_{};
  sigset_t before_{};
  std::stop_source stop_;
  std::atomic<int> signal_{0};
  std::atomic<bool> over_{false};
  std::thread waiter_;
};

}  // namespace kiln::cli
