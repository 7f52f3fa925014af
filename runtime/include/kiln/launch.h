#pragma once

// kiln/launch.h: kernels, and how they are launched.
//
//     const kiln::Kernel kernel = runtime.kernel(program, "scale<float>").value();
//     const kiln::LaunchConfig config{.grid = {count / 256}, .block = {256}, .shared_bytes = 4096};
//     kernel.launch(stream, config, x, 0.5f).value();  // count and sizes of arguments are checked

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "kiln/args.h"
#include "kiln/artifact.h"
#include "kiln/error.h"
#include "kiln/export.h"

/// Whether launches compare their arguments with the kernel's parameters. 0, given to the compiler
/// before this header, leaves the comparison and all that it needs out of this file's launches;
/// CMake's option of the same name does so for all that link kiln.
#ifndef KILN_LAUNCH_CHECKS
#define KILN_LAUNCH_CHECKS 1
#endif

// cuda.h's own declarations, so that what either API made can be given; both headers may be
// included.
typedef struct CUstream_st* CUstream;
typedef struct CUevent_st* CUevent;

namespace kiln {
struct KernelRecord;
}

namespace KILN_EXPORT kiln {

/// The stream that waits for all others of the context but non-blocking ones: what a null stream means
/// to kiln. Any thread's.
inline const CUstream legacy_default_stream = reinterpret_cast<CUstream>(0x1);
/// The default stream of the thread that launches.
inline const CUstream per_thread_default_stream = reinterpret_cast<CUstream>(0x2);

/// Sizes of a grid, of a block or of a cluster.
struct Dim3 {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;

  bool operator==(const Dim3&) const = default;
};

/// Which of a GPU's two domains of memory synchronisation a launch works in: a fence waits for writes of
/// its own domain alone.
enum class MemorySyncDomain : std::uint8_t { ordinary, remote };

/// To which of the GPU's domains each of the two is mapped.
struct MemorySyncDomainMap {
  std::uint8_t ordinary = 0;
  std::uint8_t remote = 1;

  bool operator==(const MemorySyncDomainMap&) const = default;
};

/// How blocks of a cluster are spread over the GPU.
enum class ClusterScheduling : std::uint8_t { spread, load_balancing };

/// An event recorded once every block has triggered it (or has begun), so that what waits for it may
/// begin before the kernel ends.
struct ProgrammaticEvent {
  CUevent event = nullptr;      ///< Null for none.
  bool at_block_start = false;  ///< Each block triggers it when it begins.

  bool operator==(const ProgrammaticEvent&) const = default;
};

/// How a kernel is launched. What is left as it is costs nothing and needs nothing of the driver; each
/// of the others needs a driver and a device that know it, and the launch says so where they do not.
struct LaunchConfig {
  Dim3 grid = {};                  ///< Blocks.
  Dim3 block = {};                 ///< Threads per block.
  std::uint32_t shared_bytes = 0;  ///< Dynamic shared memory per block, as much as the device has.

  /// Blocks per cluster, which divide the grid; {0, 0, 0} for none. Compute capability 9.0.
  Dim3 cluster = {0, 0, 0};
  /// A larger cluster to be used where there is room, a multiple of `cluster`; {0, 0, 0} for none. CUDA
  /// 12.8, compute capability 10.0.
  Dim3 preferred_cluster = {0, 0, 0};
  std::optional<ClusterScheduling> cluster_scheduling = {};

  bool cooperative = false;  ///< All blocks at once, so that the grid may synchronise.

  /// Programmatic dependent launch, the dependent's end: may begin before the kernel ahead of it in the
  /// stream has ended, once that allows it, and waits itself for what it needs of it.
  bool programmatic_serialization = false;
  /// Programmatic dependent launch, the other end.
  ProgrammaticEvent programmatic_event = {};
  /// Recorded when the last block has begun; null for none. CUDA 12.3. Both events must have been made
  /// with timing disabled.
  CUevent completion_event = nullptr;

  std::optional<int> priority = {};  ///< As cuStreamCreateWithPriority has it; lower goes first.
  std::optional<MemorySyncDomain> memory_sync_domain = {};
  std::optional<MemorySyncDomainMap> memory_sync_domain_map = {};
  /// Of the memory that a multiprocessor divides between L1 and shared, the part wanted as shared: 0 to
  /// 100 per cent. A hint.
  std::optional<std::uint8_t> shared_carveout = {};

  bool operator==(const LaunchConfig&) const = default;
};

/// What the driver and the image tell of a kernel on the device that it was loaded for.
struct KernelAttributes {
  std::uint32_t registers = 0;                 ///< Per thread.
  std::uint32_t shared_bytes = 0;              ///< Static shared memory per block.
  std::uint32_t local_bytes = 0;               ///< Local memory per thread.
  std::uint32_t constant_bytes = 0;            ///< Of the module's constants that it uses.
  std::uint32_t max_threads_per_block = 0;     ///< This kernel's, at most the device's.
  std::uint32_t max_dynamic_shared_bytes = 0;  ///< What a launch may ask for.
  Dim3 required_cluster = {0, 0, 0};           ///< `__cluster_dims__`; zeros where it has none.
  std::uint32_t binary_version = 0;            ///< 10 * major + minor of the code.

  bool operator==(const KernelAttributes&) const = default;
};

/// What the driver suggests to fill the device.
struct BlockSuggestion {
  std::uint32_t threads = 0;     ///< Per block.
  std::uint32_t min_blocks = 0;  ///< Fewer than these leave multiprocessors idle.

  bool operator==(const BlockSuggestion&) const = default;
};

namespace detail {
/// Part of each launch function's type, so that files with and without checks go together.
using LaunchChecks = std::bool_constant<KILN_LAUNCH_CHECKS != 0>;
}  // namespace detail

/// A kernel that can be launched. A handle, cheap to copy, valid as long as the runtime that gave
/// it; safe to use from any thread.
class Kernel {
 public:
  /// For the runtime, which keeps the record.
  explicit Kernel(const KernelRecord& record) noexcept : record_(&record) {}

  /// Queues a launch in a stream of the calling thread's current context; with no context, that of
  /// the device the kernel was loaded for becomes current. Takes no lock; takes nothing from the
  /// heap up to Args::inline_count arguments. The kernel's limit of dynamic shared memory, and that of
  /// its cluster size, are raised where the launch needs it.
  ///
  /// Count, sizes and alignments are compared with the kernel's parameters where those are known. A
  /// value in the place of a pointer, and one structure in the place of another, are told by these
  /// alone: a std::uint64_t passes for a pointer. std::byte elements pass for any type of their size.
  ///
  /// Errors, with nothing launched: argument_mismatch (naming kernel, position, expected, given and
  /// the C++ type given), invalid_argument (a configuration that is beyond a limit, which is named,
  /// or that the driver or the device is too old for), driver_failed.
  template <class Checks = detail::LaunchChecks>
  [[nodiscard]] Result<void> launch(CUstream stream, const LaunchConfig& config,
                                    const Args& args) const {
    return launch_args(stream, config, args, Checks::value);
  }

  /// The same with the arguments given one by one: as Args takes them, read where they are.
  template <class Checks = detail::LaunchChecks, class... Ts>
  [[nodiscard]] Result<void> launch(CUstream stream, const LaunchConfig& config,
                                    const Ts&... values) const {
    return detail::with_arguments<Checks::value>(
        [&](const detail::GivenArgs& given) { return launch_given(stream, config, given); },
        values...);
  }

  [[nodiscard]] const KernelInfo& info() const noexcept;

  /// What the image that was loaded was compiled for, e.g. "sm_90a".
  [[nodiscard]] const std::string& arch() const noexcept;
  /// That image's kind: "cubin", "ptx" (which the driver compiled) or "fatbin".
  [[nodiscard]] const std::string& image_kind() const noexcept;

  /// Registers, memory, limits: without a launch. What the image tells is taken from it, the rest asked
  /// of the driver, which may load the kernel for it. Errors: driver_failed.
  [[nodiscard]] Result<KernelAttributes> attributes() const;

  /// How many blocks of so many threads, each with so much dynamic shared memory, one multiprocessor
  /// runs at once. Needs a current context, like the three below. Errors: driver_failed.
  [[nodiscard]] Result<std::uint32_t> blocks_per_multiprocessor(
      std::uint32_t threads, std::uint32_t dynamic_shared_bytes = 0) const;

  /// The block size that fills a multiprocessor best, of at most `max_threads` (0: the kernel's own
  /// limit), each block with so much dynamic shared memory. Errors: driver_failed.
  [[nodiscard]] Result<BlockSuggestion> best_block_size(std::uint32_t dynamic_shared_bytes = 0,
                                                        std::uint32_t max_threads = 0) const;

  /// How many clusters of this configuration the device runs at once. Errors: invalid_argument, where
  /// it has no cluster; driver_failed.
  [[nodiscard]] Result<std::uint32_t> max_active_clusters(const LaunchConfig& config) const;

  /// How many blocks a cluster can have at most, with this block size and shared memory; up to 8 on
  /// every device with clusters, more where the kernel may have them, which a launch of more allows it.
  /// Errors: invalid_argument, where the driver has no clusters; driver_failed.
  [[nodiscard]] Result<std::uint32_t> max_cluster_blocks(const LaunchConfig& config) const;

 private:
  friend struct KernelAccess;

  [[nodiscard]] Result<void> launch_given(CUstream stream, const LaunchConfig& config,
                                          const detail::GivenArgs& given) const;
  [[nodiscard]] Result<void> launch_args(CUstream stream, const LaunchConfig& config,
                                         const Args& args, bool checks) const;

  const KernelRecord* record_;
};

}  // namespace kiln
