#include "kiln/module.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "image/symbol_name.h"
#include "launch/loaded_image.h"

namespace kiln {

namespace {

/// Waits for a copy that was queued. `what` says in the error what was done with the variable.
Outcome copied(const LoadedImage& image, const std::string& variable, const char* what,
               CUresult queued, CUstream stream) {
  const auto& driver = image.driver();
  const CUresult result =
      queued == CUDA_SUCCESS ? driver.functions().stream_synchronize(stream) : queued;
  if (result == CUDA_SUCCESS) return {};
  return driver.failure(fmt::format("{}: {} the variable {}", image.program(), what, variable),
                        result);
}

}  // namespace

Variable::Variable(const LoadedImage& image, std::string name, std::uint64_t address,
                   std::size_t size) noexcept
    : image_(&image), life_(image.life()), name_(std::move(name)), address_(address), size_(size) {}

Outcome Variable::write(std::span<const std::byte> bytes, std::size_t offset,
                        CUstream stream) const {
  if (auto within = check_range(offset, bytes.size()); !within) return within;
  const CUresult queued = image_->driver().functions().memcpy_htod_async(
      address_ + offset, bytes.data(), bytes.size(), stream);
  return copied(*image_, name_, "writing", queued, stream);
}

Outcome Variable::read(std::span<std::byte> bytes, std::size_t offset, CUstream stream) const {
  if (auto within = check_range(offset, bytes.size()); !within) return within;
  const CUresult queued = image_->driver().functions().memcpy_dtoh_async(
      bytes.data(), address_ + offset, bytes.size(), stream);
  return copied(*image_, name_, "reading", queued, stream);
}

Outcome Variable::check_size(std::size_t given) const {
  if (given == size_) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("{}: the variable {} has {} bytes, but {} were given", image_->program(),
                          name_, size_, given));
}

// Of an image that was loaded again, the address is another.
Outcome Variable::check_range(std::size_t offset, std::size_t length) const {
  if (auto alive = image_->check_alive(); !alive) return alive;
  if (life_ != image_->life()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: the variable {} is of a runtime that has ended; ask the module of "
                            "the one that runs for it",
                            image_->program(), name_));
  }
  if (offset <= size_ && length <= size_ - offset) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("{}: the variable {} has {} bytes, but {} bytes from {} on were meant",
                          image_->program(), name_, size_, length, offset));
}

Result<Kernel> Module::kernel(std::string_view name) const {
  if (auto alive = image_->check_alive(); !alive) return tl::unexpected(alive.error());
  if (const auto* record = image_->find(name)) return Kernel(*record);
  const auto is_meant = [&](const KernelRecord& record) {
    const auto& info = record.info;
    return info.symbol == name || same_name(info.expression, name) ||
           same_name(name_of_symbol(info.symbol), name);
  };
  const auto& kernels = image_->kernels();
  const auto found = std::ranges::find_if(kernels, is_meant);
  if (found != kernels.end()) return Kernel(*found);
  std::vector<std::string> names;
  for (const auto& record : kernels) {
    const auto& info = record.info;
    names.push_back(info.expression == info.symbol ? name_of_symbol(info.symbol) : info.expression);
  }
  return fail(ErrorCode::unknown_kernel,
              fmt::format("{} for {} has no kernel '{}'; it has: {}", image_->program(),
                          image_->arch(), name, fmt::join(names, "; ")));
}

std::vector<KernelInfo> Module::kernels() const {
  std::vector<KernelInfo> all;
  for (const auto& record : image_->kernels()) all.push_back(record.info);
  return all;
}

Result<Variable> Module::variable(std::string_view name) const {
  if (auto alive = image_->check_alive(); !alive) return tl::unexpected(alive.error());
  const auto& driver = image_->driver();
  if (auto ready = driver.ensure_context(image_->device().handle); !ready)
    return tl::unexpected(ready.error());
  const auto listed = image_->symbol_of(canonical_expression(name));
  const std::string symbol(listed.empty() ? name : listed);
  CUdeviceptr address = 0;
  std::size_t size = 0;
  const CUresult result =
      driver.functions().library_get_global(&address, &size, image_->library(), symbol.c_str());
  if (result == CUDA_SUCCESS) return Variable(*image_, std::string(name), address, size);
  if (result != CUDA_ERROR_NOT_FOUND) {
    return driver.failure(fmt::format("{}: looking for the variable {}", image_->program(), name),
                          result);
  }
  return fail(ErrorCode::not_found,
              fmt::format("{} for {} has no variable '{}': name it as its symbol, or list the "
                          "expression \"&{}\" among the program's kernels, which also keeps the "
                          "compiler from dropping it",
                          image_->program(), image_->arch(), name, name),
              {}, static_cast<int>(result));
}

const std::string& Module::arch() const noexcept { return image_->arch(); }

CUlibrary Module::native_handle() const noexcept { return image_->library(); }

}  // namespace kiln
