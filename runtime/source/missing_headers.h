#pragma once

#include <string>
#include <vector>

#include "source/closure.h"

namespace kiln {

/// What the source and headers that are not the toolkit's include and the search does not find: spellings in the order of
/// the scan, each once. A compile may do without those that stand under a condition; what `__has_include` asks for
/// is not among them.
[[nodiscard]] std::vector<std::string> missing_headers(const Closure& closure);

}  // namespace kiln
