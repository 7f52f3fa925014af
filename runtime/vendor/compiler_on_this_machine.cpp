#include "vendor/compiler_on_this_machine.h"

#include <utility>

namespace kiln {

CompilerOnThisMachine::CompilerOnThisMachine(std::optional<std::filesystem::path> exact,
                                             vendor::NvrtcVariables variables)
    : exact_(std::move(exact)), variables_(variables) {}

const vendor::NvrtcSearch& CompilerOnThisMachine::search() {
  std::call_once(searched_, [this] {
    search_ = vendor::find_nvrtc(exact_, variables_);
    include_dirs_ = vendor::toolkit_include_dirs(search_);
  });
  return search_;
}

const std::vector<std::filesystem::path>& CompilerOnThisMachine::include_dirs() {
  (void)search();
  return include_dirs_;
}

const Toolchain* CompilerOnThisMachine::toolchain() {
  const auto& files = search().files;
  return files ? &files->toolchain : nullptr;
}

const Result<vendor::Nvrtc>& CompilerOnThisMachine::open() {
  std::call_once(opened_, [this] {
    nvrtc_ = search().files ? vendor::open_nvrtc(*search_.files)
                            : Result<vendor::Nvrtc>(tl::unexpected(vendor::nvrtc_missing(search_)));
  });
  return nvrtc_;
}

}  // namespace kiln
