#pragma once

#include <string>
#include <vector>

#include "kiln/error.h"
#include "kiln/program.h"
#include "kiln/target.h"
#include "words.h"

namespace kiln::cli {

/// Errors: unknown_arch, invalid_argument.
[[nodiscard]] std::vector<Target> parse_targets(const ProgramWords& words);

/// Reads the file, whose own folder is the first to be searched for headers. Errors: io_failed, and those of
/// Program::make().
[[nodiscard]] Program make_program(const ProgramWords& words);

/// What the compiler says, with the program's file named as the command line names it: "src/k.cu(4)" in the place of
/// "/kiln/k.cu(4)".
[[nodiscard]] std::string with_given_name(std::string text, const ProgramWords& words);

}  // namespace kiln::cli
