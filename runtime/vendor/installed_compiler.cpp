#include "vendor/installed_compiler.h"

#include <utility>

namespace kiln {

InstalledCompiler::InstalledCompiler(std::optional<std::filesystem::path> exact,
                                     vendor::NvrtcVariables variables)
    : exact_(std::move(exact)), variables_(variables) {}

const vendor::NvrtcSearch& InstalledCompiler::search() {
  std::call_once(searched_, [this] {
    search_ = vendor::find_nvrtc(exact_, variables_);
    include_dirs_ = vendor::toolkit_include_dirs(search_);
  });
  return search_;
}

const std::vector<std::filesystem::path>& InstalledCompiler::include_dirs() {
  (void)search();
  return include_dirs_;
}

const Toolchain* InstalledCompiler::toolchain() {
  const auto& files = search().files;
  return files ? &files->toolchain : nullptr;
}

const Result<vendor::Nvrtc>& InstalledCompiler::open() {
  std::call_once(opened_, [this] {
    nvrtc_ = search().files ? vendor::open_nvrtc(*search_.files)
                            : Result<vendor::Nvrtc>(tl::unexpected(vendor::nvrtc_missing(search_)));
  });
  return nvrtc_;
}

}  // namespace kiln
