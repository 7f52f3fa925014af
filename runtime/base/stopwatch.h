#pragma once

#include <chrono>
#include <cstdint>

namespace kiln {

/// Runs from when it is made.
class Stopwatch {
 public:
  [[nodiscard]] double milliseconds() const {
    return std::chrono::duration<double, std::milli>(time()).count();
  }

  /// Whole ones.
  [[nodiscard]] std::uint64_t microseconds() const {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(time()).count());
  }

 private:
  [[nodiscard]] std::chrono::steady_clock::duration time() const {
    return std::chrono::steady_clock::now() - begin_;
  }

  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace kiln
