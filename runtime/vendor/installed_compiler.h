#pragma once

#include <filesystem>
#include <mutex>
#include <optional>
#include <vector>

#include "kiln/error.h"
#include "kiln/request.h"
#include "vendor/nvrtc.h"

namespace kiln {

/// The compiler of this machine, in two steps, each taken once and when first needed: where it lies
/// (all that a hit asks), and mapped. Safe to use from any thread.
class InstalledCompiler {
 public:
  /// `exact` names the only library to consider.
  explicit InstalledCompiler(std::optional<std::filesystem::path> exact,
                             vendor::NvrtcVariables variables = vendor::NvrtcVariables::inherited);

  /// Where NVRTC lies, or where it was looked for.
  [[nodiscard]] const vendor::NvrtcSearch& search();

  /// The include directories that go with it; those of a toolkit where there is no NVRTC.
  [[nodiscard]] const std::vector<std::filesystem::path>& include_dirs();

  /// Its identity; nullptr where there is none.
  [[nodiscard]] const Toolchain* toolchain();

  /// Maps NVRTC. Errors: compiler_missing.
  [[nodiscard]] const Result<vendor::Nvrtc>& open();

 private:
  const std::optional<std::filesystem::path> exact_;
  const vendor::NvrtcVariables variables_;
  std::once_flag searched_;
  vendor::NvrtcSearch search_;
  std::vector<std::filesystem::path> include_dirs_;
  std::once_flag opened_;
  Result<vendor::Nvrtc> nvrtc_ = tl::unexpected(Error{});
};

}  // namespace kiln
