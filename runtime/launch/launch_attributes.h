#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "kiln/error.h"
#include "kiln/launch.h"
#include "launch/kernel_record.h"

namespace kiln {

/// Where attributes go: not all are for both.
enum class AttributeUse { launch, graph_node };

[[nodiscard]] inline bool is_set(const Dim3& size) noexcept {
  return (size.x | size.y | size.z) != 0;
}

/// Whether a configuration asks for anything beyond grid, block and shared memory.
[[nodiscard]] inline bool has_attributes(const LaunchConfig& config) noexcept {
  // Names all, so that one that is added is not forgotten.
  const auto& [grid, block, shared_bytes, cluster, preferred, scheduling, cooperative,
               serialization, event, completion, priority, domain, domains, carveout] = config;
  return (cluster.x | cluster.y | cluster.z | preferred.x | preferred.y | preferred.z) != 0 ||
         cooperative || serialization || scheduling || event.event != nullptr ||
         completion != nullptr || priority || domain || domains || carveout;
}

/// What a configuration asks for beyond grid, block and shared memory, in the driver's terms. Made in place, since it is larger
/// than a launch likes to copy.
class LaunchAttributes {
 public:
  explicit LaunchAttributes(const LaunchConfig& config) noexcept;
  LaunchAttributes(const LaunchAttributes&) = delete;
  LaunchAttributes& operator=(const LaunchAttributes&) = delete;

  [[nodiscard]] std::span<CUlaunchAttribute> all() noexcept { return {values_.data(), count_}; }

  /// Whether the driver knows all of them.
  [[nodiscard]] bool are_known_to(const vendor::Driver& driver) const noexcept {
    return driver.version() >= newest_;
  }

  /// Errors: invalid_argument, for one that the driver is too old for, or that graph nodes do not have.
  [[nodiscard]] Outcome check(const KernelRecord& record, AttributeUse use) const;

 private:
  static constexpr std::size_t most = 11;  ///< As many as launch_attributes.cpp lists.

  template <CUlaunchAttributeID id>
  CUlaunchAttributeValue& add() noexcept;
  void add_clusters(const LaunchConfig& config) noexcept;
  void add_dependencies(const LaunchConfig& config) noexcept;
  void add_preferences(const LaunchConfig& config) noexcept;

  std::array<CUlaunchAttribute, most> values_;
  std::size_t count_ = 0;
  int newest_ = 0;  ///< The first driver that knows all of them.
};

/// Sets grid, block and shared memory in a structure of the driver's.
template <class Structure>
void set_sizes(Structure& structure, const LaunchConfig& config) noexcept {
  structure.gridDimX = config.grid.x;
  structure.gridDimY = config.grid.y;
  structure.gridDimZ = config.grid.z;
  structure.blockDimX = config.block.x;
  structure.blockDimY = config.block.y;
  structure.blockDimZ = config.block.z;
  structure.sharedMemBytes = config.shared_bytes;
}

/// Grid, block, shared memory and stream as cuLaunchKernelEx and the occupancy functions take them; the
/// attributes are borrowed.
[[nodiscard]] CUlaunchConfig driver_config(CUstream stream, const LaunchConfig& config,
                                           LaunchAttributes& attributes) noexcept;

}  // namespace kiln
