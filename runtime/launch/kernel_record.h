#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "kiln/artifact.h"
#include "kiln/error.h"
#include "kiln/launch.h"
#include "vendor/driver.h"

namespace kiln {

/// Called for each launch that failed, on the thread that launched.
using LaunchFailureCallback = std::function<void(const Error&)>;

/// What a kernel may be launched with on its device, as far as it is known. At first the limits are 0, so
/// that the first launch asks the driver. It takes no lock, since all threads learn the same.
class LaunchLimits {
 public:
  using Limit = std::atomic<std::uint32_t>;
  struct Limit3 {
    Limit x{0};
    Limit y{0};
    Limit z{0};
  };

  /// Whether the sizes are known to be within the limits. Each launch asks, so it is a few comparisons.
  [[nodiscard]] bool allow(const LaunchConfig& config) const noexcept {
    const Dim3& size = config.block;
    return allows(grid, config.grid) && allows(block, size) &&
           std::uint64_t{size.x} * size.y * size.z <= threads.load(std::memory_order_relaxed) &&
           config.shared_bytes <= dynamic_shared.load(std::memory_order_relaxed);
  }

  Limit3 grid;
  Limit3 block;
  Limit threads{0};         ///< Per block.
  Limit dynamic_shared{0};  ///< As the kernel is set up now. Bytes per block.
  Limit cluster_blocks{8};  ///< As the kernel is set up now; every device with clusters takes 8.
  std::atomic<bool> known{false};

 private:
  /// A size of 0 is no size, so it is never within.
  [[nodiscard]] static bool within(std::uint32_t size, const Limit& limit) noexcept {
    return size - 1 < limit.load(std::memory_order_relaxed);
  }
  [[nodiscard]] static bool allows(const Limit3& limit, const Dim3& size) noexcept {
    return within(size.x, limit.x) && within(size.y, limit.y) && within(size.z, limit.z);
  }
};

/// What a Kernel handle points to: all that a launch needs to know. Immutable once a handle points to it,
/// except for its limits.
struct KernelRecord {
  KernelInfo info;
  std::string arch;        ///< Of the image.
  std::string image_kind;  ///< "cubin", "ptx" or "fatbin".
  std::shared_ptr<const vendor::Driver> driver;
  CUdevice device = 0;           ///< The one it was loaded for.
  CUkernel kernel = nullptr;     ///< Lives as long as its module.
  LaunchFailureCallback failed;  ///< May be empty.
  /// The kernel as a launch takes it: the driver's headers say that a CUkernel is launched by casting it.
  [[nodiscard]] CUfunction function() const noexcept {
    return reinterpret_cast<CUfunction>(kernel);
  }

  /// What the driver tells of the kernel, and of its device.
  [[nodiscard]] CUresult ask(CUfunction_attribute attribute, int& value) const {
    return driver->functions().kernel_get_attribute(&value, attribute, kernel, device);
  }
  [[nodiscard]] CUresult ask(CUdevice_attribute attribute, int& value) const {
    return driver->functions().device_get_attribute(&value, attribute, device);
  }

  /// Launches learn and raise them: the one part that changes.
  std::unique_ptr<LaunchLimits> limits = std::make_unique<LaunchLimits>();
};

}  // namespace kiln
