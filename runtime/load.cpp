#include "load.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace kiln {
namespace {

/// Completes what the image's own metadata left open.
void ask_for_parameters(const vendor::Driver& driver, CUkernel kernel, KernelInfo& info) {
  const auto ask = driver.functions().kernel_get_param_info;
  if (info.params_known || ask == nullptr) return;
  std::size_t offset = 0;
  std::size_t size = 0;
  CUresult result = CUDA_SUCCESS;
  while ((result = ask(kernel, info.params.size(), &offset, &size)) == CUDA_SUCCESS) {
    info.params.push_back({static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(size)});
  }
  // This is how the driver says that there are no more.
  info.params_known = result == CUDA_ERROR_INVALID_VALUE;
  if (!info.params_known) info.params.clear();
}

}  // namespace

Module::Module(std::shared_ptr<const vendor::Driver> driver, CUlibrary library)
    : driver_(std::move(driver)), library_(library) {}

Module::~Module() {
  // At the end of a process the driver may be gone already, and there is nothing left to do.
  static_cast<void>(driver_->functions().library_unload(library_));
}

Result<std::unique_ptr<const Module>> Module::load(
    const std::shared_ptr<const vendor::Driver>& driver, const vendor::Device& device,
    const Artifact& artifact, const LaunchFailureCallback& failed) {
  const vendor::Driver::Functions& functions = driver->functions();
  CUlibrary library = nullptr;
  if (const CUresult result = functions.library_load_data(&library, artifact.image.c_str(), nullptr,
                                                          nullptr, 0, nullptr, nullptr, 0);
      result != CUDA_SUCCESS) {
    return driver->failure(
        fmt::format("the driver does not load {} for {} on {} (compute capability "
                    "{}.{})",
                    artifact.program, artifact.arch, device.name, device.major, device.minor),
        result);
  }
  std::unique_ptr<Module> module(new Module(driver, library));
  module->records_.reserve(artifact.kernels.size());
  for (const KernelInfo& info : artifact.kernels) {
    KernelRecord record{info, artifact.arch, driver, device.handle, nullptr, failed};
    const CUresult result =
        functions.library_get_kernel(&record.kernel, library, info.symbol.c_str());
    // An expression may name a variable; that is no reason to lose the kernels.
    if (result == CUDA_ERROR_NOT_FOUND) continue;
    if (result != CUDA_SUCCESS) {
      return driver->failure(
          fmt::format("the driver does not find the kernel {} ({}) in {} for {}", info.expression,
                      info.symbol, artifact.program, artifact.arch),
          result);
    }
    ask_for_parameters(*driver, record.kernel, record.info);
    module->records_.push_back(std::move(record));
  }
  return module;
}

const KernelRecord* Module::find(std::string_view expression) const noexcept {
  for (const KernelRecord& record : records_) {
    if (record.info.expression == expression) return &record;
  }
  return nullptr;
}

}  // namespace kiln
