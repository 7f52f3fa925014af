#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "kiln/args.h"
#include "kiln/artifact.h"
#include "kiln/error.h"
#include "kiln/launch.h"
#include "kiln/resources.h"
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

  /// From here on nothing is allowed, and nothing is learnt.
  void end() noexcept {
    ended = true;
    known = false;
    for (Limit* limit : {&grid.x, &grid.y, &grid.z, &block.x, &block.y, &block.z, &threads})
      *limit = 0;
    dynamic_shared = 0;
    cluster_blocks = portable_cluster_blocks;
  }
  /// The kernel was loaded again: there is everything to learn.
  void begin_again() noexcept { ended = false; }

  Limit3 grid;
  Limit3 block;
  Limit threads{0};         ///< Per block.
  Limit dynamic_shared{0};  ///< As the kernel is set up now. Bytes per block.
  /// As the kernel is set up now.
  Limit cluster_blocks{portable_cluster_blocks};
  std::atomic<bool> known{false};
  std::atomic<bool> ended{false};  ///< The image was unloaded with its runtime.

 private:
  static constexpr std::uint32_t portable_cluster_blocks =
      8;  ///< Every device with clusters takes so many.

  /// A size of 0 is no size, so it is never within.
  [[nodiscard]] static bool within(std::uint32_t size, const Limit& limit) noexcept {
    return size - 1 < limit.load(std::memory_order_relaxed);
  }
  [[nodiscard]] static bool allows(const Limit3& limit, const Dim3& size) noexcept {
    return within(size.x, limit.x) && within(size.y, limit.y) && within(size.z, limit.z);
  }
};

/// Places and kinds of the arguments that a kernel was first launched with, and takes: whoever launches it with such again
/// has nothing to check. It takes no lock: the first thread to remember them wins.
class TakenArgs {
 public:
  /// Each launch asks, so it is one comparison of bytes.
  [[nodiscard]] bool are_like(const detail::GivenArgs& given) const noexcept {
    static_assert(std::has_unique_object_representations_v<detail::ArgPlace>);
    const auto count = count_.load(std::memory_order_acquire);
    if (count != given.count || count > most) return false;
    // No arguments have no layout, which memcmp() must not be given.
    return count == 0 || std::memcmp(places_.data(), given.layout, count * sizeof(places_[0])) == 0;
  }

  /// REQUIRES: the kernel takes these.
  void remember(const detail::GivenArgs& given) noexcept {
    auto state = none;
    if (given.count > most ||
        !count_.compare_exchange_strong(state, being_written, std::memory_order_relaxed)) {
      return;
    }
    std::copy_n(given.layout, given.count, places_.begin());
    count_.store(given.count, std::memory_order_release);
  }

 private:
  static constexpr std::size_t most = 48;  // Arguments; more are checked each time.
  // No count of arguments is as large as these.
  static constexpr std::size_t none = SIZE_MAX;
  static constexpr std::size_t being_written = SIZE_MAX - 1;

  std::atomic<std::size_t> count_{none};
  std::array<detail::ArgPlace, most> places_{};
};

/// What a Kernel handle points to: all that a launch needs to know. Immutable once a handle points to it,
/// except for what launches learn.
struct KernelRecord {
  KernelInfo info;
  std::vector<ParameterKind> kinds;  ///< One for each of its parameters.
  std::string arch;                  ///< Of the image.
  std::string image_kind;            ///< "cubin", "ptx" or "fatbin".
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

  // What launches learn: all that changes.
  std::unique_ptr<LaunchLimits> limits = std::make_unique<LaunchLimits>();
  std::unique_ptr<TakenArgs> taken = std::make_unique<TakenArgs>();
};

}  // namespace kiln
