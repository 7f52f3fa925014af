#pragma once

#include <string_view>

#include "source/closure.h"
#include "source/query.h"

namespace kiln {

/// Records in the closure's dependencies those paths of this machine that reach the output, so that they become
/// key material: with line information all of them, the headers' times and the working directory; else those that
/// stand in the image, if only the file's name does and a text names `__FILE__` or the like. (That a text
/// names it says little: `assert` does, and hardly any kernel expands it.) In LTO-IR and OptiX-IR, where strings
/// are packed, such a text decides.
void record_output_paths(const Query& query, std::string_view image, Closure& closure);

}  // namespace kiln
