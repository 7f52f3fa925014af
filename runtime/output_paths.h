#pragma once

#include <string_view>

#include "closure.h"
#include "header_search.h"
#include "kiln/program.h"
#include "kiln/target.h"

namespace kiln {

/// Records in the closure's dependencies those paths of this machine that reach the output, so that
/// they become key material: with line information all of them and the working directory; else the
/// program's headers where a text names `__FILE__` or the like, and the toolkit's where their
/// directory stands in the image (CUB names `__FILE__` in macros that hardly any kernel expands, so
/// the name alone would tie every CUB kernel to one place).
void record_output_paths(const Program& program, const Target& target, const HeaderSearch& search,
                         std::string_view image, Closure& closure);

}  // namespace kiln
