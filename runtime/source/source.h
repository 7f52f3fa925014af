#pragma once

#include <string>
#include <vector>

#include "kiln/program.h"
#include "source/closure.h"
#include "source/header_files.h"
#include "source/header_search.h"

namespace kiln {

/// Follows the includes of a program. Cannot fail: a header that is not found is recorded as such,
/// and whether that matters is for the compiler to say.
[[nodiscard]] Closure close_over(const Program& program, const HeaderSearch& search,
                                 HeaderFiles& files);

}  // namespace kiln
