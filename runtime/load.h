#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "kernel_record.h"
#include "kiln/artifact.h"
#include "kiln/error.h"
#include "vendor/driver.h"

namespace kiln {

/// An artifact in the driver, with a record for each of its kernels. Immutable, so safe to use from
/// any thread; records stay where they are until it ends, which unloads the image: no launch may be
/// under way or to come then.
class Module {
 public:
  /// Gives the image to the driver. Independent of contexts; needs none. Parameters that the
  /// artifact does not tell are asked of the driver where it knows them (CUDA 12.4). Errors:
  /// driver_failed, with the driver's code; 209 means that the device does not run this image.
  [[nodiscard]] static Result<std::unique_ptr<const Module>> load(
      const std::shared_ptr<const vendor::Driver>& driver, const vendor::Device& device,
      const Artifact& artifact, const LaunchFailureCallback& failed);

  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module();

  /// The record of this expression's kernel, or nullptr. Valid as long as the module.
  [[nodiscard]] const KernelRecord* find(std::string_view expression) const noexcept;

 private:
  Module(std::shared_ptr<const vendor::Driver> driver, CUlibrary library);

  std::shared_ptr<const vendor::Driver> driver_;
  CUlibrary library_;
  std::vector<KernelRecord> records_;
};

}  // namespace kiln
