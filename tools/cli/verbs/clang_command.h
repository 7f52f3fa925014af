#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::cli {

/// What NVRTC brings along without an #include, as a header that clang is to read before everything else: the types and
/// functions of device code, from CUDA's own headers, and NVRTC's macros.
extern const std::string_view clang_prelude;

/// A source as NVRTC compiles it. Paths are absolute.
struct SourceForClang {
  std::filesystem::path file;
  std::string arch;  ///< "sm_90a", "compute_80".
  std::vector<std::string> options = {};
  std::vector<std::filesystem::path> include_dirs = {};  ///< In the order of the search.
  std::vector<std::filesystem::path> toolkit_dirs = {};  ///< CUDA's own, searched after those.
};

/// The command with which clang, and so clangd, reads the source as NVRTC does: a check of its device code, for clang 14 and
/// later. `prelude` is where clang_prelude lies.
///
/// Of the options it takes macros, the language's version and those that NVRTC tells a source of by macros; the others are
/// about machine code or are NVRTC's alone. clang 14 knows no architecture after sm_86 and no suffix, so it gets the nearest
/// that it knows below, and the source is told of its own one by NVRTC's macros: __CUDA_ARCH__ and those of suffixes.
[[nodiscard]] std::vector<std::string> clang_command(const SourceForClang& source,
                                                     const std::filesystem::path& prelude);

}  // namespace kiln::cli
