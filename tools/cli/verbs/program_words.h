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

/// What the compiler was given stands at the end of a message, and hides from most what is wrong.
[[nodiscard]] std::string without_options(std::string message);

/// An error of the compiler in a person's words: it names the program's file as the command line does, and leaves out all
/// that the compiler was given unless the command line asks for that.
[[nodiscard]] Error as_given(Error error, const ProgramWords& words, bool verbose);

/// What the compiler says, with the program's file named as the command line names it: "src/k.cu(4)" in the place of
/// "/kiln/k.cu(4)".
[[nodiscard]] std::string with_given_name(std::string text, const ProgramWords& words);

}  // namespace kiln::cli
