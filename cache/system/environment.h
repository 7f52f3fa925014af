#pragma once

#include <cstdlib>

namespace kiln::system {

/// The one way in which kiln reads the environment. Gives nothing in a program that runs with other rights than those
/// of the user who started it (setuid, setgid, setcap), since that user's variables would decide which code runs with
/// these rights.
[[nodiscard]] inline const char* variable(const char* name) noexcept {
  return ::secure_getenv(name);
}

}  // namespace kiln::system
