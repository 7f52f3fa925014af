#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "vendor/shared_library.h"

namespace kiln {

/// Where kiln looked for one of its helper programs, and where it found it.
struct HelperSearch {
  std::filesystem::path executable;  ///< Empty where it was not found.
  std::vector<vendor::SearchStep> steps;
};

/// Looks beside the library, where it is installed, and beside the program; where `exact` is given, which `variable` names, only
/// there.
[[nodiscard]] HelperSearch find_helper(const std::string& name, const std::string& variable,
                                       const std::optional<std::filesystem::path>& exact);

}  // namespace kiln
