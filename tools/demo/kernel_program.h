#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kiln/program.h"

namespace demo {

/// The file of that name in kernels/, compiled for these name expressions.
[[nodiscard]] kiln::ProgramSpec kernel_program(std::string_view file,
                                               std::vector<std::string> kernels);

}  // namespace demo
