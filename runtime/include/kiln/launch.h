#pragma once

// kiln/launch.h: kernels, and how they are launched.
//
//     const kiln::Kernel kernel = runtime.kernel(program, "scale<float>").value();
//     const kiln::LaunchConfig config{.grid = {count / 256}, .block = {256}, .shared_bytes = 4096};
//     kernel.launch(stream, config, x, 0.5f).value();  // count and sizes of arguments are checked

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "kiln/args.h"
#include "kiln/artifact.h"
#include "kiln/error.h"
#include "kiln/export.h"

/// Whether launches compare their arguments with the kernel's parameters. Define it as 0 before this header,
/// and this file's launches are made without the comparison and all that it needs. CMake's option of the same
/// name does so for every target that links kiln.
#ifndef KILN_LAUNCH_CHECKS
#define KILN_LAUNCH_CHECKS 1
#endif

// cuda.h's own declarations, so that streams and events of both of CUDA's APIs can be given, and handles be handed to the
// driver. Both headers may be included.
typedef struct CUstream_st* CUstream;
typedef struct CUevent_st* CUevent;
typedef struct CUkern_st* CUkernel;
typedef struct CUfunc_st* CUfunction;

namespace kiln {
struct KernelRecord;
}

namespace KILN_EXPORT kiln {

/// The stream that waits for all other streams of the context, except non-blocking ones. To kiln a null
/// stream means this one, in every thread.
inline const CUstream legacy_default_stream = reinterpret_cast<CUstream>(0x1);
/// The default stream of the thread that launches.
inline const CUstream per_thread_default_stream = reinterpret_cast<CUstream>(0x2);

/// Sizes of a grid, of a block or of a cluster, in braces: {8} or {8, 4, 2}. A bare number is none, so that {4, 32} does not
/// pass for a configuration: a grid of 4 and blocks of 32 are {{4}, {32}}.
struct Dim3 {
  /// What a whole number converts to, once. One that no size can be becomes the largest, which every launch refuses.
  struct Extent {
    template <std::integral Number>
    constexpr Extent(Number number) noexcept
        : value(std::in_range<std::uint32_t>(number) ? static_cast<std::uint32_t>(number)
                                                     : std::numeric_limits<std::uint32_t>::max()) {}
    std::uint32_t value;
  };

  constexpr Dim3() noexcept = default;
  constexpr Dim3(Extent width, Extent height = 1, Extent depth = 1) noexcept
      : x(width.value), y(height.value), z(depth.value) {}

  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;

  bool operator==(const Dim3&) const = default;
};

/// Which of a GPU's two domains of memory synchronisation a launch works in: a fence waits for writes of
/// its own domain alone.
enum class MemorySyncDomain : std::uint8_t { ordinary, remote };

/// Which of the GPU's domains each of the two stands for.
struct MemorySyncDomainMap {
  std::uint8_t ordinary = 0;
  std::uint8_t remote = 1;

  bool operator==(const MemorySyncDomainMap&) const = default;
};

/// How blocks of a cluster are spread over the GPU.
enum class ClusterScheduling : std::uint8_t { spread, load_balancing };

/// An event that is recorded when every block has triggered it (or has begun). Work that waits for it may
/// begin before the kernel ends.
struct ProgrammaticEvent {
  CUevent event = nullptr;      ///< Null for none.
  bool at_block_start = false;  ///< Each block triggers it when it begins.

  bool operator==(const ProgrammaticEvent&) const = default;
};

/// How a kernel is launched. Each field after `shared_bytes` needs, where it is set, a driver and a device
/// that know it; where they do not, the launch fails and says so. A field that is not set costs nothing.
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

  bool cooperative = false;  ///< All blocks run at once, so that the grid can synchronise.

  /// Programmatic dependent launch, for the dependent kernel: it may begin before the kernel ahead of it in
  /// the stream has ended, once that one allows it. It then waits itself for what it needs of that one.
  bool programmatic_serialization = false;
  /// Programmatic dependent launch, for the kernel ahead.
  ProgrammaticEvent programmatic_event = {};
  /// Recorded when the last block has begun; null for none. CUDA 12.3. Both events must have been made
  /// with timing disabled.
  CUevent completion_event = nullptr;

  std::optional<int> priority = {};  ///< As cuStreamCreateWithPriority has it; lower goes first.
  std::optional<MemorySyncDomain> memory_sync_domain = {};
  std::optional<MemorySyncDomainMap> memory_sync_domain_map = {};
  /// How much of the memory that L1 and shared memory divide is wanted as shared memory: 0 to 100 per cent. A
  /// hint.
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
/// Part of each launch function's type, so that files with and without checks may be linked together.
using LaunchChecks = std::bool_constant<KILN_LAUNCH_CHECKS != 0>;
}  // namespace detail

/// A kernel that can be launched. A handle, cheap to copy, valid as long as the runtime that gave it. After its end, a launch
/// is an error (invalid_argument), until another runtime of the process loads the same image for the device: then it is
/// that one's. Nobody may be launching while the runtime ends. Safe to use from any thread.
class Kernel {
 public:
  /// For the runtime, which keeps the record.
  explicit Kernel(const KernelRecord& record) noexcept : record_(&record) {}

  /// Queues a launch in a stream of the calling thread's current context. Where there is none, the primary
  /// context of the kernel's device becomes current. Takes no lock, and with up to Args::inline_count
  /// arguments nothing from the heap. Raises the kernel's limits of dynamic shared memory and of cluster size
  /// where the launch needs it.
  ///
  /// Compares the arguments' count, sizes and alignments with the kernel's parameters where those are known,
  /// and, where the kernel's symbol tells types, integers and pointers with floats and doubles. Nothing else: a
  /// std::uint64_t passes for a pointer, and a structure for another one of its size and alignment. std::byte elements
  /// pass for any type of their size.
  ///
  /// Errors, with nothing launched: argument_mismatch (naming kernel, position, expected, given and
  /// the C++ type given), invalid_argument (a configuration that is beyond a limit, which is named,
  /// or that the driver or the device is too old for), driver_failed.
  template <class Checks = detail::LaunchChecks>
  [[nodiscard]] Outcome launch(CUstream stream, const LaunchConfig& config,
                               const Args& args) const {
    return launch_args(stream, config, args, Checks::value);
  }

  /// The same with the arguments one by one. Takes what Args takes, and reads it in place.
  template <class Checks = detail::LaunchChecks, class... Ts>
  [[nodiscard]] Outcome launch(CUstream stream, const LaunchConfig& config,
                               const Ts&... values) const {
    return detail::with_arguments<Checks::value>(
        [&](const detail::GivenArgs& given) { return launch_given(stream, config, given); },
        values...);
  }

  /// The same with each argument as its own bytes, read in place: for bindings of other languages, which know the parameters
  /// from info(). Types are unknown, so that sizes alone are compared.
  [[nodiscard]] Outcome launch_bytes(CUstream stream, const LaunchConfig& config,
                                     std::span<const std::span<const std::byte>> arguments) const;

  [[nodiscard]] const KernelInfo& info() const noexcept;

  /// The architecture that the loaded image was compiled for, e.g. "sm_90a".
  [[nodiscard]] const std::string& arch() const noexcept;
  /// That image's kind: "cubin", "ptx" (which the driver compiled) or "fatbin".
  [[nodiscard]] const std::string& image_kind() const noexcept;

  /// Registers, memory and limits, without a launch. Asks the driver for what the image does not tell; the
  /// driver may load the kernel for that. Errors: driver_failed.
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

  /// How many blocks a cluster of this block size and shared memory can have at most. Every device with
  /// clusters takes up to 8. The kernel may have more after a launch with more, which allows it.
  /// Errors: invalid_argument, where the driver has no clusters; driver_failed.
  [[nodiscard]] Result<std::uint32_t> max_cluster_blocks(const LaunchConfig& config) const;

  /// The driver's own handle, for what kiln does not do, such as cuKernelSetAttribute(). Borrowed: it belongs to the runtime,
  /// is valid as long as that. Null after the runtime's end. What is set through it holds for launches by kiln as well; do
  /// not lower what kiln raises (dynamic shared memory, cluster size), since kiln remembers how far it has.
  [[nodiscard]] CUkernel native_handle() const noexcept;

  /// The same kernel as the calling thread's current context has it, for calls that take no CUkernel, such as
  /// cuFuncGetModule(). Where there is no context, the primary one of the kernel's device becomes current. Borrowed likewise;
  /// valid as long as that context too. Errors: invalid_argument after the runtime's end; driver_failed.
  [[nodiscard]] Result<CUfunction> native_function() const;

 private:
  friend struct KernelAccess;

  [[nodiscard]] Outcome launch_given(CUstream stream, const LaunchConfig& config,
                                     const detail::GivenArgs& given) const;
  [[nodiscard]] Outcome launch_args(CUstream stream, const LaunchConfig& config, const Args& args,
                                    bool checks) const;

  const KernelRecord* record_;
};

}  // namespace kiln
