#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/artifact.h"
#include "kiln/error.h"
#include "launch/kernel_record.h"
#include "vendor/driver.h"

namespace kiln {

/// An artifact in the driver, with a record for each of its kernels. Immutable, so safe to use from any
/// thread. Records stay where they are until it ends. Its end unloads the image, so all launches must be over
/// by then.
class LoadedImage {
 public:
  /// Gives the image to the driver. Needs no context. Where one is current, loads the kernels into it at
  /// once, so that no launch has to. Asks the driver (of CUDA 12.4 or later) for the kernels of an artifact
  /// that lists none, and for parameters that it does not tell. Errors: driver_failed, with the driver's
  /// code; 209 means that the device does not run this image.
  [[nodiscard]] static Result<std::unique_ptr<const LoadedImage>> load(
      const std::shared_ptr<const vendor::Driver>& driver, const vendor::Device& device,
      const Artifact& artifact, const LaunchFailureCallback& failed);

  LoadedImage(const LoadedImage&) = delete;
  LoadedImage& operator=(const LoadedImage&) = delete;
  ~LoadedImage();

  /// The record of this expression's kernel, or nullptr. Valid as long as the image.
  [[nodiscard]] const KernelRecord* find(std::string_view expression) const noexcept;

  /// In the order of their expressions.
  [[nodiscard]] const std::vector<KernelRecord>& kernels() const noexcept { return kernels_; }

  [[nodiscard]] const vendor::Driver& driver() const noexcept { return *driver_; }
  [[nodiscard]] const vendor::Device& device() const noexcept { return device_; }
  [[nodiscard]] CUlibrary library() const noexcept { return library_; }
  [[nodiscard]] const std::string& program() const noexcept { return program_; }
  [[nodiscard]] const std::string& arch() const noexcept { return arch_; }

  /// The symbol of an expression that names no kernel; empty where there is none.
  [[nodiscard]] std::string_view symbol_of(std::string_view expression) const noexcept;

 private:
  LoadedImage(std::shared_ptr<const vendor::Driver> driver, const vendor::Device& device,
              const Artifact& artifact, CUlibrary library);

  Result<void> add_kernels(const std::vector<KernelInfo>& kernels,
                           const LaunchFailureCallback& failed);
  void load_kernels_now() const;

  std::shared_ptr<const vendor::Driver> driver_;
  vendor::Device device_;
  std::string program_;
  std::string arch_;
  std::string kind_;
  CUlibrary library_;
  std::vector<KernelRecord> kernels_;
  std::vector<KernelInfo> others_;  ///< What is listed and is no kernel.
};

}  // namespace kiln
