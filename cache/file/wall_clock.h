#pragma once

#include <chrono>
#include <cstdint>

namespace kiln::storage {

/// For people to read. A wrong clock spoils no decision.
[[nodiscard]] inline std::int64_t seconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

}  // namespace kiln::storage
