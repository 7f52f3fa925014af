#pragma once

#include <array>

#include "kiln/error.h"

namespace kiln::cli {

/// What the tool's exit status says to a script.
enum class ExitCode {
  done = 0,
  findings = 1,  ///< A miss, or something found that a person should look at.
  usage = 2,     ///< The command line or a `KILN_*` variable makes no sense.
  failure = 3,
  interrupted = 130,  ///< By SIGINT; 128 and the number of another signal.
};

/// What a person is told about each.
struct ExitMeaning {
  ExitCode code;
  const char* meaning;
};
inline constexpr std::array exit_meanings{
    ExitMeaning{ExitCode::done, "done"}, ExitMeaning{ExitCode::findings, "findings or a miss"},
    ExitMeaning{ExitCode::usage, "usage"}, ExitMeaning{ExitCode::failure, "failure"},
    ExitMeaning{ExitCode::interrupted, "interrupted"}};

/// The exit status that an error deserves.
[[nodiscard]] constexpr ExitCode exit_code_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::not_found:
    case ErrorCode::ambiguous:
    case ErrorCode::not_cached:
      return ExitCode::findings;
    case ErrorCode::invalid_argument:
    case ErrorCode::invalid_setting:
    case ErrorCode::invalid_option:
    case ErrorCode::unknown_arch:
      return ExitCode::usage;
    default:
      return ExitCode::failure;
  }
}

}  // namespace kiln::cli
