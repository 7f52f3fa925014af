#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/request.h"

namespace kiln {

/// A path that a compiler asked for, as Dependency::at_place spells it.
struct Place {
  static constexpr std::string_view elsewhere = "-";  ///< In no directory that holds any.

  std::string_view directory;  ///< A number, or `elsewhere`; empty where the path is absolute.
  std::string_view rest;       ///< Below the directory; or the absolute path.
};

[[nodiscard]] Place read_place(std::string_view spelling);

/// The name by which people are told of a look-up: its spelling, or what its place leaves of it.
[[nodiscard]] std::string_view name_of(const Dependency& lookup);

/// The include directories that hold any of these files, in the order of the search. Places count only these: the others hold
/// none of the files, so it makes no difference where and how many they are.
[[nodiscard]] std::vector<std::string> directories_with(const std::vector<std::string_view>& rests,
                                                        const std::vector<std::string>& all);

/// The part of a path below this directory. Nothing if the path does not lie in it.
[[nodiscard]] std::optional<std::string_view> below(const std::string& directory,
                                                    std::string_view path);

}  // namespace kiln
