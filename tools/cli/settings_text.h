#pragma once

#include <string>
#include <vector>

#include "kiln/settings.h"

namespace kiln::cli {

/// A table of the settings, each with its value and where it came from.
[[nodiscard]] std::string settings_text(const std::vector<Setting>& settings, bool colour);

}  // namespace kiln::cli
