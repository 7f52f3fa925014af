#include "vendor/installed_compiler.h"

#include <utility>

namespace kiln {

InstalledCompiler::InstalledCompiler(std::optional<std::filesystem::path> exact,
                                     vendor::NvrtcVariables variables)
    : InstalledLibrary(
          [exact = std::move(exact), variables] { return vendor::find_nvrtc(exact, variables); }) {}

const std::vector<std::filesystem::path>& InstalledCompiler::include_dirs() {
  std::call_once(listed_, [this] { include_dirs_ = vendor::toolkit_include_dirs(search()); });
  return include_dirs_;
}

const Toolchain* InstalledCompiler::toolchain() {
  const auto& files = search().files;
  return files ? &files->toolchain : nullptr;
}

}  // namespace kiln
