#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "kiln/error.h"
#include "vendor/shared_library.h"

namespace kiln::vendor {

/// A program of the CUDA toolkit as it was found.
struct ToolkitProgram {
  std::filesystem::path file;
  std::string origin;             ///< What led there, e.g. "$CUDA_HOME".
  std::vector<SearchStep> steps;  ///< Every place that was looked at.
};

/// nvdisasm, which disassembles cubins. Places as for search_library(). Errors: compiler_missing, which says what to
/// install.
[[nodiscard]] Result<ToolkitProgram> find_nvdisasm(
    const std::optional<std::filesystem::path>& exact, const std::filesystem::path& beside_nvrtc);

/// cuobjdump, which takes fatbins apart and lets nvdisasm read them: beside this nvdisasm, else where that might have
/// been. `exact` says that nvdisasm was named, so that it is looked for nowhere else. Errors: as above.
[[nodiscard]] Result<ToolkitProgram> find_cuobjdump(const std::filesystem::path& nvdisasm,
                                                    bool exact);

}  // namespace kiln::vendor
