#pragma once

#include <sys/types.h>

#include <filesystem>

#include "kiln/error.h"

namespace kiln {

/// One of kiln's helper programs, as it is started.
struct HelperProgram {
  std::filesystem::path executable;
  int socket;  ///< It finds this under the number helper_socket.
  int output;  ///< Its standard output and standard error.
};

inline constexpr int helper_socket = 3;

/// Starts it, with the system's handling of each signal, and in a process group of its own, so that an interrupt typed at the
/// terminal is the host's to handle. Gives its number, or the system's error number.
[[nodiscard]] tl::expected<pid_t, int> spawn_helper(const HelperProgram& program,
                                                    char* const* environment);

}  // namespace kiln
