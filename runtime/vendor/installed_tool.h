#pragma once

#include <filesystem>
#include <optional>
#include <utility>

#include "vendor/installed_compiler.h"
#include "vendor/installed_library.h"

namespace kiln {

/// A tool beside the compiler: nvJitLink or nvFatbin.
template <class Tool>
class InstalledTool : public InstalledLibrary<Tool> {
 public:
  using Find = vendor::LibrarySearch (*)(const std::optional<std::filesystem::path>& exact,
                                         const std::filesystem::path& beside_nvrtc);

  /// `exact` names the only library to consider; else the one that came with the compiler goes first.
  InstalledTool(Find find, std::optional<std::filesystem::path> exact, InstalledCompiler& compiler)
      : InstalledLibrary<Tool>([find, exact = std::move(exact), &compiler] {
          const auto& nvrtc = compiler.search().files;
          return find(exact, nvrtc ? nvrtc->library.parent_path() : std::filesystem::path{});
        }) {}
};

}  // namespace kiln
