#pragma once

#include <cstdint>
#include <stdexcept>

#include "kiln/launch.h"

namespace demo {

/// How many tiles of `divisor` cover `value`.
constexpr std::uint32_t ceil_div(int value, int divisor) {
  return static_cast<std::uint32_t>((value + divisor - 1) / divisor);
}

/// In the default stream. A launch that is refused is a std::runtime_error.
template <class... Args>
void launch(const kiln::Kernel& kernel, const kiln::LaunchConfig& config, Args... args) {
  if (const auto launched = kernel.launch(nullptr, config, args...); !launched) {
    throw std::runtime_error(launched.error().message);
  }
}

}  // namespace demo
