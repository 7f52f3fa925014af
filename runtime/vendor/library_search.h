#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/error.h"
#include "kiln/request.h"
#include "vendor/shared_library.h"

namespace kiln::vendor {

/// How a library, or a program, of NVIDIA's is named and packed. Views of static lifetime.
struct WantedLibrary {
  std::string_view name;      ///< For people, e.g. "nvJitLink".
  std::string_view variable;  ///< It names an exact one, e.g. "KILN_NVJITLINK".
  std::string_view stem;      ///< What its file names begin with, e.g. "libnvJitLink.so.".
  /// Newest first. Development symlinks are not looked at: they say nothing of the version.
  std::span<const std::string_view> sonames;
  std::span<const std::string_view> wheel_folders;  ///< Beneath a Python's site-packages.
  std::string_view package;                         ///< What to install, e.g. "nvidia-nvjitlink".
  std::string_view loss;                            ///< Without it, e.g. "nothing can be linked".
  bool is_program = false;                          ///< It lies in bin/, and PATH may lead to it.
};

/// Decides whether a file that is there serves. The error's message says why it does not.
using Examine =
    std::function<Outcome(const std::filesystem::path& library, const std::string& origin)>;

/// Searches all places in their order until `examine` takes a file. Gives the places that it searched, and
/// what was there. `exact` goes alone, with no fallback. `beside_nvrtc` is NVRTC's folder, which goes before
/// all others, so that the two are of one release; empty where there is none.
[[nodiscard]] std::vector<SearchStep> search_library(
    const WantedLibrary& wanted, const std::optional<std::filesystem::path>& exact,
    const std::filesystem::path& beside_nvrtc, const Examine& examine);

/// A library as it lies on disk, found without mapping any of it as code: enough to know whether it made an entry.
struct LibraryFiles {
  std::filesystem::path library;
  std::filesystem::path builtins;  ///< Of NVRTC. Empty when they are not beside the library.
  std::string origin;              ///< Where the idea came from, e.g. "KILN_NVJITLINK".
  /// By the build-ids of the files, and for NVRTC by any variable that reaches it.
  Toolchain toolchain;
};

/// What a search came to: the files, or every place that was looked at.
struct LibrarySearch {
  std::optional<LibraryFiles> files;
  std::vector<SearchStep> steps;
};

/// Looks for a library that is one file. Places as for search_library().
[[nodiscard]] LibrarySearch find_library(const WantedLibrary& wanted,
                                         const std::optional<std::filesystem::path>& exact,
                                         const std::filesystem::path& beside_nvrtc);

/// The error compiler_missing for a search that found nothing: every place that was looked at, and the package that has it.
[[nodiscard]] tl::unexpected<Error> missing(const WantedLibrary& wanted,
                                            const LibrarySearch& search);

/// The error compiler_missing for a library that was found and does not serve, and why not.
[[nodiscard]] tl::unexpected<Error> unusable(const WantedLibrary& wanted, const LibraryFiles& files,
                                             std::string_view why);

/// The roots of CUDA toolkits on this machine, best first, each with what led there, e.g. "$CUDA_HOME".
[[nodiscard]] std::vector<std::pair<std::string, std::filesystem::path>> toolkits();

/// What lies in a folder under names that begin with `beginning`, in the order of the names; nothing where
/// the folder cannot be read.
[[nodiscard]] std::vector<std::filesystem::path> children(const std::filesystem::path& folder,
                                                          std::string_view beginning = {});

[[nodiscard]] bool is_file(const std::filesystem::path& path);
[[nodiscard]] bool is_folder(const std::filesystem::path& path);

}  // namespace kiln::vendor
