#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "kiln/error.h"

namespace kiln {

/// A file of settings, a line each: `KILN_MODE=warn`. Spaces around names and values mean nothing, nor do empty lines and
/// those that begin with '#'. Where a name stands twice, the last value counts.
struct ConfigFile {
  std::filesystem::path path;
  std::map<std::string, std::string> values;  ///< By the names of variables.
  /// Why nothing of it was read, and what to do: the user may not read it. Empty where it was read.
  std::string unread = {};
};

/// `path` is what errors and origins name. Errors: invalid_setting, naming the line that is none of these.
[[nodiscard]] Result<ConfigFile> parse_config(const std::filesystem::path& path,
                                              std::string_view text);

/// Reads a file that belongs to the user or to root, that nobody else may write to, and that is no link: what it says decides
/// which code runs. Nothing where there is no such file. One that the user has no right to read is none of his: it is given
/// as unread. Errors: invalid_setting, naming the file and what is the matter.
[[nodiscard]] Result<std::optional<ConfigFile>> read_config(const std::filesystem::path& path);

}  // namespace kiln
