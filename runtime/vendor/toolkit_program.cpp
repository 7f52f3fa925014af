#include "vendor/toolkit_program.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "vendor/library_search.h"

namespace kiln::vendor {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view variable = "KILN_NVDISASM";

constexpr std::array<std::string_view, 1> nvdisasm_names{"nvdisasm"};
constexpr std::array<std::string_view, 2> nvdisasm_wheels{"nvidia/cu13/bin",
                                                          "nvidia/cuda_nvdisasm/bin"};
constexpr WantedLibrary wanted_nvdisasm{.name = "nvdisasm",
                                        .variable = variable,
                                        .stem = "nvdisasm",
                                        .sonames = nvdisasm_names,
                                        .wheel_folders = nvdisasm_wheels,
                                        .package = "nvidia-cuda-nvdisasm",
                                        .loss = "nothing can be disassembled",
                                        .is_program = true};

constexpr std::array<std::string_view, 1> cuobjdump_names{"cuobjdump"};
constexpr std::array<std::string_view, 2> cuobjdump_wheels{"nvidia/cu13/bin",
                                                           "nvidia/cuda_cuobjdump/bin"};
constexpr WantedLibrary wanted_cuobjdump{.name = "cuobjdump",
                                         .variable = variable,
                                         .stem = "cuobjdump",
                                         .sonames = cuobjdump_names,
                                         .wheel_folders = cuobjdump_wheels,
                                         .package = "nvidia-cuda-cuobjdump",
                                         .loss = "no fatbin can be taken apart",
                                         .is_program = true};

Result<ToolkitProgram> find(const WantedLibrary& wanted, const std::optional<fs::path>& exact,
                            const fs::path& beside) {
  ToolkitProgram found;
  const auto examine = [&](const fs::path& file, const std::string& origin) -> Outcome {
    if (::access(file.c_str(), X_OK) != 0)
      return fail(ErrorCode::compiler_missing, std::strerror(errno));
    found.file = file;
    found.origin = origin;
    return {};
  };
  LibrarySearch search;
  search.steps = search_library(wanted, exact, beside, examine);
  if (found.file.empty()) return missing(wanted, search);
  found.steps = std::move(search.steps);
  return found;
}

}  // namespace

Result<ToolkitProgram> find_nvdisasm(const std::optional<fs::path>& exact,
                                     const fs::path& beside_nvrtc) {
  return find(wanted_nvdisasm, exact, beside_nvrtc);
}

Result<ToolkitProgram> find_cuobjdump(const fs::path& nvdisasm, bool exact) {
  const auto folder = nvdisasm.parent_path();
  if (exact) return find(wanted_cuobjdump, folder / "cuobjdump", {});
  return find(wanted_cuobjdump, std::nullopt, folder);
}

}  // namespace kiln::vendor
