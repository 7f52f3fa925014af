// Attributes and occupancy of a kernel, and its driver's handles, without a launch.

#include <utility>

#include <fmt/format.h>

#include "kiln/launch.h"
#include "launch/kernel_record.h"
#include "launch/launch_attributes.h"
#include "launch/launch_checks.h"

namespace kiln {
namespace {

/// Asks the driver for one attribute after the other, until it refuses one.
class AttributeReader {
 public:
  explicit AttributeReader(const KernelRecord& record) : record_(record) {}

  template <class Attribute>
  [[nodiscard]] std::uint32_t operator()(Attribute attribute) {
    int value = 0;
    const CUresult result = record_.ask(attribute, value);
    if (result_ == CUDA_SUCCESS) result_ = result;
    return static_cast<std::uint32_t>(value);
  }

  /// Zero where the driver is too old to know of it.
  [[nodiscard]] std::uint32_t newer(CUfunction_attribute attribute) {
    const CUresult before = std::exchange(result_, CUDA_SUCCESS);
    const std::uint32_t value = (*this)(attribute);
    return std::exchange(result_, before) == CUDA_SUCCESS ? value : 0;
  }

  [[nodiscard]] CUresult result() const { return result_; }

 private:
  const KernelRecord& record_;
  CUresult result_ = CUDA_SUCCESS;
};

/// The device's own maximum, which a launch raises the kernel's limit to.
std::uint32_t most_dynamic_shared(AttributeReader& read, std::uint32_t own) {
  const std::uint32_t device = read(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  return device > own ? device - own : 0;
}

tl::unexpected<Error> cannot_tell(const KernelRecord& record, const char* what, CUresult result) {
  return record.driver->failure(
      fmt::format("kernel '{}': the driver does not tell {}", record.info.expression, what),
      result);
}

tl::unexpected<Error> too_old(const KernelRecord& record) {
  return fail(ErrorCode::invalid_argument,
              fmt::format("kernel '{}': the driver is too old to tell of clusters, which came with "
                          "CUDA 11.8",
                          record.info.expression));
}

/// Asks a function of the driver about a configuration, which is brought within the kernel's limits before.
template <class Function>
Result<std::uint32_t> ask_of_clusters(const KernelRecord& record, const LaunchConfig& config,
                                      Function function, const char* what) {
  if (function == nullptr) return too_old(record);
  if (auto ready = prepare_launch(record, config); !ready) return tl::unexpected(ready.error());
  LaunchAttributes attributes(config);
  if (auto sound = attributes.check(record, AttributeUse::launch); !sound)
    return tl::unexpected(std::move(sound.error()));
  const CUlaunchConfig arguments = driver_config(nullptr, config, attributes);
  int count = 0;
  const CUresult result = function(&count, record.function(), &arguments);
  if (result != CUDA_SUCCESS) return cannot_tell(record, what, result);
  return static_cast<std::uint32_t>(count);
}

}  // namespace

Result<KernelAttributes> Kernel::attributes() const {
  if (auto alive = check_alive(*record_); !alive) return tl::unexpected(alive.error());
  const KernelInfo& info = record_->info;
  AttributeReader read(*record_);
  KernelAttributes result;
  // Where the image does not tell of the kernel, it has no registers.
  const bool told = info.registers != 0;
  result.registers = told ? info.registers : read(CU_FUNC_ATTRIBUTE_NUM_REGS);
  result.shared_bytes = told ? info.shared_bytes : read(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  result.local_bytes = told ? info.local_bytes : read(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  result.constant_bytes = read(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
  result.max_threads_per_block = read(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  result.binary_version = read(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  result.max_dynamic_shared_bytes = most_dynamic_shared(read, result.shared_bytes);
  result.required_cluster = {read.newer(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH),
                             read.newer(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT),
                             read.newer(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH)};
  if (read.result() != CUDA_SUCCESS) {
    return cannot_tell(*record_, "this kernel's attributes", read.result());
  }
  return result;
}

Result<std::uint32_t> Kernel::blocks_per_multiprocessor(std::uint32_t threads,
                                                        std::uint32_t dynamic_shared_bytes) const {
  const LaunchConfig config{.block = {threads}, .shared_bytes = dynamic_shared_bytes};
  if (auto ready = prepare_launch(*record_, config); !ready) return tl::unexpected(ready.error());
  int blocks = 0;
  const CUresult result = record_->driver->functions().max_active_blocks(
      &blocks, record_->function(), static_cast<int>(threads), dynamic_shared_bytes);
  if (result != CUDA_SUCCESS) return cannot_tell(*record_, "how many blocks fit", result);
  return static_cast<std::uint32_t>(blocks);
}

Result<BlockSuggestion> Kernel::best_block_size(std::uint32_t dynamic_shared_bytes,
                                                std::uint32_t max_threads) const {
  const LaunchConfig config{.shared_bytes = dynamic_shared_bytes};
  if (auto ready = prepare_launch(*record_, config); !ready) return tl::unexpected(ready.error());
  int blocks = 0;
  int threads = 0;
  const CUresult result = record_->driver->functions().max_potential_block_size(
      &blocks, &threads, record_->function(), nullptr, dynamic_shared_bytes,
      static_cast<int>(max_threads));
  if (result != CUDA_SUCCESS) return cannot_tell(*record_, "the best block size", result);
  return BlockSuggestion{static_cast<std::uint32_t>(threads), static_cast<std::uint32_t>(blocks)};
}

Result<std::uint32_t> Kernel::max_active_clusters(const LaunchConfig& config) const {
  if (config.cluster == Dim3{0, 0, 0}) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("kernel '{}': how many clusters fit is asked for a configuration that "
                            "has a cluster",
                            record_->info.expression));
  }
  return ask_of_clusters(*record_, config, record_->driver->functions().max_active_clusters,
                         "how many clusters fit");
}

Result<std::uint32_t> Kernel::max_cluster_blocks(const LaunchConfig& config) const {
  return ask_of_clusters(*record_, config, record_->driver->functions().max_potential_cluster_size,
                         "how many blocks a cluster can have");
}

CUkernel Kernel::native_handle() const noexcept { return record_->kernel; }

Result<CUfunction> Kernel::native_function() const {
  if (auto alive = check_alive(*record_); !alive) return tl::unexpected(alive.error());
  if (auto ready = record_->driver->ensure_context(record_->device); !ready)
    return tl::unexpected(ready.error());
  CUfunction function = nullptr;
  const CUresult result =
      record_->driver->functions().kernel_get_function(&function, record_->kernel);
  if (result != CUDA_SUCCESS)
    return cannot_tell(*record_, "its function in the current context", result);
  return function;
}

}  // namespace kiln
