#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/target.h"

namespace kiln::nvrtc_api {

/// NVRTC's options, in kiln's words.
struct Options {
  std::string arch = {};  ///< Empty where none was given; of several the last.
  bool ltoir = false;
  bool optixir = false;
  bool beside_source = true;  ///< Whether quoted includes look beside the source.
  std::vector<std::filesystem::path> include_dirs = {};
  std::string included = {};                  ///< Directives to put before the source.
  std::vector<std::string> to_compiler = {};  ///< What kiln passes on, or refuses.
};

/// Reads all of them, in one word or in two as NVRTC takes them. Nothing where one is null.
[[nodiscard]] std::optional<Options> read_options(std::span<const char* const> options);

}  // namespace kiln::nvrtc_api
