#pragma once

#include <vector>

#include "kiln/program.h"

namespace demo {

/// Every kernel of the decoder, for __half and the sizes of decoder_shape.h: a program for each file.
[[nodiscard]] std::vector<kiln::ProgramSpec> decoder_programs();

}  // namespace demo
