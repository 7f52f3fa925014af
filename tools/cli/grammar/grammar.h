#pragma once

#include <functional>

#include "exit_code.h"
#include "words.h"

namespace kiln::cli {

/// A command line that was read.
struct CommandLine {
  Globals globals;
  /// The work of its verb. Empty where there is none: help and versions have been printed, and what is
  /// wrong has been reported.
  std::function<ExitCode(const Globals&)> action;
  ExitCode without_action = ExitCode::done;
};

[[nodiscard]] CommandLine parse_command_line(int argc, char** argv);

}  // namespace kiln::cli
