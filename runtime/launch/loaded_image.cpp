#include "launch/loaded_image.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "image/driver_age.h"

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

/// The kernels that the driver sees in a library, each standing for itself; none where it does not tell.
std::vector<KernelInfo> ask_for_kernels(const vendor::Driver& driver, CUlibrary library) {
  const auto& functions = driver.functions();
  unsigned count = 0;
  std::vector<KernelInfo> kernels;
  if (functions.library_get_kernel_count == nullptr ||
      functions.library_enumerate_kernels == nullptr || functions.kernel_get_name == nullptr ||
      functions.library_get_kernel_count(&count, library) != CUDA_SUCCESS)
    return kernels;
  std::vector<CUkernel> handles(count);
  if (functions.library_enumerate_kernels(handles.data(), count, library) != CUDA_SUCCESS)
    return kernels;
  for (auto* const handle : handles) {
    const char* name = nullptr;
    if (functions.kernel_get_name(&name, handle) == CUDA_SUCCESS && name != nullptr)
      kernels.push_back({.expression = name, .symbol = name});
  }
  std::ranges::sort(kernels, {}, &KernelInfo::expression);
  return kernels;
}

}  // namespace

LoadedImage::LoadedImage(const vendor::Device& device, const Artifact& artifact)
    : device_(device), program_(artifact.program), arch_(artifact.arch), kind_(artifact.kind) {}

LoadedImage::~LoadedImage() { end(); }

Result<std::unique_ptr<LoadedImage>> LoadedImage::load(
    const std::shared_ptr<const vendor::Driver>& driver, const vendor::Device& device,
    const Artifact& artifact, const LaunchFailureCallback& failed) {
  std::unique_ptr<LoadedImage> image(new LoadedImage(device, artifact));
  image->driver_ = driver;
  if (auto given = image->give_to_driver(artifact); !given) return tl::unexpected(given.error());
  auto added = image->add_kernels(
      artifact.kernels.empty() ? ask_for_kernels(*driver, image->library_) : artifact.kernels,
      failed);
  if (!added) return tl::unexpected(std::move(added.error()));
  image->load_kernels_now();
  return image;
}

bool LoadedImage::is_of(const Artifact& artifact) const noexcept {
  const auto has = [&](const KernelInfo& kernel) {
    const auto* record = find(kernel.expression);
    return (record != nullptr ? record->info.symbol : symbol_of(kernel.expression)) ==
           kernel.symbol;
  };
  const bool lists_the_same =
      artifact.kernels.empty() || (artifact.kernels.size() == kernels_.size() + others_.size() &&
                                   std::ranges::all_of(artifact.kernels, has));
  return artifact.program == program_ && artifact.arch == arch_ && artifact.kind == kind_ &&
         lists_the_same;
}

Outcome LoadedImage::load_again(const std::shared_ptr<const vendor::Driver>& driver,
                                const Artifact& artifact, const LaunchFailureCallback& failed) {
  driver_ = driver;
  if (auto given = give_to_driver(artifact); !given) return given;
  if (auto renewed = renew_kernels(failed); !renewed) {
    end();
    return renewed;
  }
  load_kernels_now();
  return {};
}

void LoadedImage::end() noexcept {
  alive_ = false;
  for (auto& record : kernels_) {
    record.limits->end();
    record.failed = nullptr;
    record.kernel = nullptr;
  }
  unload();
}

void LoadedImage::unload() noexcept {
  // At the end of a process the driver may be gone already, and there is nothing left to do.
  if (library_ != nullptr) static_cast<void>(driver_->functions().library_unload(library_));
  library_ = nullptr;
}

Outcome LoadedImage::check_alive() const {
  if (alive_) return {};
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("{} for {}: the runtime that loaded it has ended; let the Runtime live as "
                  "long as its modules and kernels",
                  program_, arch_));
}

// A driver loads PTX that it cannot compile, as one without kernels, and says what is wrong when it is asked for one. (CUDA
// 13.0.)
CUresult LoadedImage::opinion_of_driver(const Artifact& artifact) const {
  CUkernel kernel = nullptr;
  const char* const any =
      artifact.kernels.empty() ? "any" : artifact.kernels.front().symbol.c_str();
  const CUresult result = driver_->functions().library_get_kernel(&kernel, library_, any);
  return result == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS : result;
}

Outcome LoadedImage::give_to_driver(const Artifact& artifact) {
  CUresult result = driver_->functions().library_load_data(
      &library_, artifact.image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (result == CUDA_SUCCESS && (result = opinion_of_driver(artifact)) == CUDA_SUCCESS) {
    ++life_;
    alive_ = true;
    return {};
  }
  unload();
  auto refused = driver_->failure(
      fmt::format("the driver does not load {} for {} on {} (compute capability {}.{})", program_,
                  arch_, device_.name, device_.major, device_.minor),
      result);
  if (const auto why = why_too_old(artifact, driver_->version()); !why.empty())
    refused.value().message += "; " + why;
  return refused;
}

// False where the driver finds none: an expression may name a variable, and that is no reason to lose the kernels.
Result<bool> LoadedImage::find_kernel(KernelRecord& record) {
  const CUresult result =
      driver_->functions().library_get_kernel(&record.kernel, library_, record.info.symbol.c_str());
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_FOUND) return result == CUDA_SUCCESS;
  return driver_->failure(fmt::format("the driver does not find the kernel {} ({}) in {} for {}",
                                      record.info.expression, record.info.symbol, program_, arch_),
                          result);
}

Outcome LoadedImage::add_kernels(const std::vector<KernelInfo>& kernels,
                                 const LaunchFailureCallback& failed) {
  kernels_.reserve(kernels.size());
  for (const KernelInfo& info : kernels) {
    KernelRecord record{info, {}, arch_, kind_, driver_, device_.handle, nullptr, failed};
    const auto found = find_kernel(record);
    if (!found) return tl::unexpected(found.error());
    if (!*found) {
      others_.push_back(info);
      continue;
    }
    ask_for_parameters(*driver_, record.kernel, record.info);
    record.kinds = parameter_kinds(record.info);
    kernels_.push_back(std::move(record));
  }
  return {};
}

Outcome LoadedImage::renew_kernels(const LaunchFailureCallback& failed) {
  for (auto& record : kernels_) {
    const auto found = find_kernel(record);
    if (!found) return tl::unexpected(found.error());
    if (!*found) {
      return fail(ErrorCode::driver_failed,
                  fmt::format("the driver no longer finds the kernel {} ({}) in {} for {}",
                              record.info.expression, record.info.symbol, program_, arch_));
    }
    record.driver = driver_;
    record.failed = failed;
  }
  // Only now: whoever has one of them from before finds all of it new.
  for (auto& record : kernels_) record.limits->begin_again();
  return {};
}

// Left to itself the driver loads a kernel with its first launch, which may have to wait for the device,
// and fails while a stream is captured. A failure here comes again with that launch.
void LoadedImage::load_kernels_now() const {
  const auto& functions = driver_->functions();
  CUcontext context = nullptr;
  if (functions.ctx_get_current(&context) != CUDA_SUCCESS || context == nullptr) return;
  for (const auto& record : kernels_) {
    CUfunction function = nullptr;
    const bool found = functions.kernel_get_function(&function, record.kernel) == CUDA_SUCCESS;
    if (found && functions.func_load != nullptr) static_cast<void>(functions.func_load(function));
  }
}

const KernelRecord* LoadedImage::find(std::string_view expression) const noexcept {
  for (const KernelRecord& record : kernels_) {
    if (record.info.expression == expression) return &record;
  }
  return nullptr;
}

std::string_view LoadedImage::symbol_of(std::string_view expression) const noexcept {
  for (const auto& other : others_) {
    if (other.expression == expression) return other.symbol;
  }
  return {};
}

}  // namespace kiln
