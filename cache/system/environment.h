#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln::system {

/// The one way in which kiln reads the environment. Gives nothing in a program that runs with other rights than those
/// of the user who started it (setuid, setgid, setcap), since that user's variables would decide which code runs with
/// these rights.
[[nodiscard]] inline const char* variable(const char* name) noexcept {
  return ::secure_getenv(name);
}

/// The variable's value where it is an absolute path, else an empty one: the XDG specification has relative paths ignored.
[[nodiscard]] inline std::filesystem::path absolute_path_in(const char* name) {
  const char* value = variable(name);
  std::filesystem::path path(value != nullptr ? value : "");
  return path.is_absolute() ? path : std::filesystem::path();
}

/// The names of all variables that begin so and that variable() gives. Empty ones are left out.
[[nodiscard]] inline std::vector<std::string> variables_beginning_with(std::string_view prefix) {
  std::vector<std::string> names;
  for (char** each = ::environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view text = *each;
    if (!text.starts_with(prefix)) continue;
    std::string name(text.substr(0, text.find('=')));
    const char* value = variable(name.c_str());
    if (value != nullptr && *value != '\0') names.push_back(std::move(name));
  }
  return names;
}

}  // namespace kiln::system
