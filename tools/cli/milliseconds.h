#pragma once

#include <cstdint>

namespace kiln::cli {

/// What a member of JSON holds whose name ends in `_ms`.
[[nodiscard]] constexpr double milliseconds(std::uint64_t microseconds) noexcept {
  return static_cast<double>(microseconds) / 1000;
}

}  // namespace kiln::cli
