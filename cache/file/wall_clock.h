#pragma once

#include <chrono>
#include <cstdint>

namespace kiln::storage {

/// For people to read: nothing is decided by it that a wrong clock could spoil.
[[nodiscard]] inline std::int64_t seconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

}  // namespace kiln::storage
