#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "kiln/error.h"
#include "kiln/program.h"
#include "kiln/target.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace kiln::cli {

/// One program as it is named on a command line, and what it is for.
struct CompileWords {
  std::filesystem::path file;
  std::vector<std::string> archs;
  std::vector<std::string> expressions;
  std::vector<std::filesystem::path> include_dirs;
  std::vector<std::string> options;
  std::string image = "cubin";
};

/// Declares the words for a verb. `words` must outlive it.
void add_compile_words(CLI::App& verb, CompileWords& words);

/// Puts -D and --option together in the order of the command line. To be called once it was parsed.
void read_options(const CLI::App& verb, CompileWords& words);

/// Errors: unknown_arch, invalid_argument.
[[nodiscard]] Result<std::vector<Target>> parse_targets(const CompileWords& words);

/// Reads the file. Errors: io_failed, and those of Program::make().
[[nodiscard]] Result<Program> make_program(const CompileWords& words);

}  // namespace kiln::cli
