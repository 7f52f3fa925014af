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

/// The part of a closure that the compiler read, by its own word: `headers_read` as a CompileOutcome has
/// them. Texts and stamps are those of the closure, whatever lies on the disk by now. Where the two do not
/// fit each other the result is unaccountable.
[[nodiscard]] Closure narrow(const Closure& closure, const std::vector<std::string>& headers_read,
                             const Program& program, const HeaderSearch& search,
                             HeaderFiles& files);

}  // namespace kiln
