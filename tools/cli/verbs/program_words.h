#pragma once

#include <vector>

#include "kiln/error.h"
#include "kiln/program.h"
#include "kiln/target.h"
#include "words.h"

namespace kiln::cli {

/// Errors: unknown_arch, invalid_argument.
[[nodiscard]] std::vector<Target> parse_targets(const ProgramWords& words);

/// Reads the file. Errors: io_failed, and those of Program::make().
[[nodiscard]] Program make_program(const ProgramWords& words);

}  // namespace kiln::cli
