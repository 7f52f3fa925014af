#pragma once

#include <vector>

#include "json.h"
#include "kiln/cache.h"

namespace kiln::cli {

/// What was asked for and is stored more than once: for each such request `program arch image entries differences[]`, in
/// what its two newest entries differ. The one with most entries comes first, and some hundred are told at most.
[[nodiscard]] Json compiled_again(Cache& cache, const std::vector<EntrySummary>& entries);

}  // namespace kiln::cli
