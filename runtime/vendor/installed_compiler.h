#pragma once

#include <filesystem>
#include <mutex>
#include <optional>
#include <vector>

#include "kiln/request.h"
#include "vendor/installed_library.h"
#include "vendor/nvrtc.h"

namespace kiln {

/// The compiler of this machine.
class InstalledCompiler : public InstalledLibrary<vendor::Nvrtc> {
 public:
  /// `exact` names the only library to consider.
  explicit InstalledCompiler(std::optional<std::filesystem::path> exact,
                             vendor::NvrtcVariables variables = vendor::NvrtcVariables::inherited);

  /// The include directories that go with it; those of a toolkit where there is no NVRTC.
  [[nodiscard]] const std::vector<std::filesystem::path>& include_dirs();

  /// Its identity; nullptr where there is none.
  [[nodiscard]] const Toolchain* toolchain();

 private:
  std::once_flag listed_;
  std::vector<std::filesystem::path> include_dirs_;
};

}  // namespace kiln
