#pragma once

#include <vector>

#include "kiln/program.h"

namespace demo {

/// One decoder block of a language model, as programs: every kernel that takes an activation from
/// the block's input to the next token. Each kernel comes for __half and __nv_bfloat16 and for the
/// sizes that models of this kind have.
[[nodiscard]] std::vector<kiln::ProgramSpec> decoder_block();

}  // namespace demo
