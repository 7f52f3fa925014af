#pragma once

#include <string>
#include <vector>

#include "closure.h"
#include "header_files.h"
#include "header_search.h"
#include "kiln/program.h"

namespace kiln {

/// Follows the includes of a program. Cannot fail: a header that is not found is recorded as such,
/// and whether that matters is for the compiler to say.
[[nodiscard]] Closure close_over(const Program& program, const HeaderSearch& search,
                                 HeaderFiles& files);

}  // namespace kiln
