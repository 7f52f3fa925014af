#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kiln/settings.h"

namespace kiln::cli {

/// A table of the settings, each with its value and where it came from; no wider than `width`, as Table::text() has it.
[[nodiscard]] std::string settings_text(const std::vector<Setting>& settings, bool colour,
                                        std::size_t width);

}  // namespace kiln::cli
