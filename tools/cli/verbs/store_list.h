#pragma once

#include <functional>

#include "kiln/cache.h"
#include "verbs.h"

namespace kiln::cli {

/// `ls` of a store that machines share. Errors: invalid_argument for what only a cache tells; those of open_store() and
/// list_store().
[[nodiscard]] ExitCode list_store_entries(
    const Globals& globals, const LsWords& words,
    const std::function<bool(const EntrySummary&)>& fits,
    const std::function<bool(const EntrySummary&, const EntrySummary&)>& order);

}  // namespace kiln::cli
