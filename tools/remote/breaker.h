#pragma once

#include <chrono>

namespace kiln::remote {

/// Decides when a server that fails is left alone, so that it costs this machine no more than a quarter of a second now and then.
/// Not thread-safe.
class Breaker {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;

  /// A server is left alone after so many failures in a row, or once they have cost so much.
  static constexpr int most_failures = 3;
  static constexpr std::chrono::milliseconds most_cost{250};
  /// For so long at first; twice as long after each probe that failed.
  static constexpr std::chrono::seconds first_rest{5};
  static constexpr std::chrono::seconds longest_rest{300};

  [[nodiscard]] bool is_open() const noexcept { return open_; }

  /// A call is on its way that somebody waits for; and it is at its end. What begin() gives is for its end().
  [[nodiscard]] unsigned begin(Time now);
  void end(unsigned era) noexcept;

  /// How a call went, and what a failure cost those who waited.
  void succeed(Time now);
  void fail(Time now, Clock::duration cost);

  /// When calls that nobody answered will have cost too much; the end of time where none is on its way.
  [[nodiscard]] Time silent_until() const noexcept;
  /// Opens it if that is now.
  void look(Time now);

  /// When the server is to be probed. REQUIRES: is_open().
  [[nodiscard]] Time next_probe() const noexcept { return next_probe_; }
  /// How the probe went.
  void probed(Time now, bool answers);

 private:
  void open(Time now);

  bool open_ = false;
  unsigned era_ = 0;        ///< The server recovered so often.
  int pending_ = 0;         ///< Of calls that began since.
  int failures_ = 0;        ///< Since the last success.
  Clock::duration cost_{};  ///< Of these.
  Time heard_{};            ///< The last success, or the first call after none was on its way.
  std::chrono::seconds rest_ = first_rest;
  Time next_probe_{};
};

}  // namespace kiln::remote
