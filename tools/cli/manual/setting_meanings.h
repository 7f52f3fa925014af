#pragma once

#include <span>

namespace kiln::cli {

/// What a variable of the environment sets.
struct SettingMeaning {
  const char* variable;
  const char* meaning;
  const char* default_value;  ///< Empty for none.
};

/// All of them, in the order of the README, whose words these are.
[[nodiscard]] std::span<const SettingMeaning> setting_meanings() noexcept;

}  // namespace kiln::cli
