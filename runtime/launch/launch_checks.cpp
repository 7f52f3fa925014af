#include "launch/launch_checks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "image/symbol_name.h"
#include "launch/launch_attributes.h"

namespace kiln {
namespace {

/// ": the kernel is fill<float>(float*, float)"; nothing for a name that tells no types.
std::string declaration(const KernelRecord& record) {
  const auto text = declaration_of_symbol(record.info.symbol);
  return text ? fmt::format("; the kernel is {}", *text) : std::string();
}

tl::unexpected<Error> mismatch(const KernelRecord& record, const std::string& what) {
  return fail(ErrorCode::argument_mismatch,
              fmt::format("kernel '{}'{}{}", record.info.expression, what, declaration(record)));
}

tl::unexpected<Error> refuse(const KernelRecord& record, const std::string& what) {
  return fail(ErrorCode::invalid_argument,
              fmt::format("kernel '{}': {}", record.info.expression, what));
}

/// Whether a value of this type may be the parameter, which lies behind `end` bytes of others. Parameters
/// begin at an address that is a multiple of 16 and of no more on some architectures, and are aligned from
/// there: beyond 16, offsets do not tell alignments to the byte.
bool fits(const Parameter& param, std::size_t end, std::uint32_t size,
          const ArgType& type) noexcept {
  constexpr std::size_t told = 16;
  if (param.size != size) return false;
  if (type.raw) return true;
  if (type.alignment <= told) return detail::align_up(end, type.alignment) == param.offset;
  return param.offset % told == 0 && param.offset - end < type.alignment;
}

enum class Point { none, floating, not_told };

Point point_of(ArgKind kind) {
  if (kind == ArgKind::float32 || kind == ArgKind::float64) return Point::floating;
  const bool told = kind <= ArgKind::uint64 || kind == ArgKind::pointer;
  return told ? Point::none : Point::not_told;
}

/// Whether one is a float or a double and the other an integer or a pointer: of one size, and yet no value stands for the
/// other. An integer may stand for a pointer.
bool confuses(ParameterKind param, ArgKind given) {
  const auto point = point_of(given);
  const bool told = param != ParameterKind::unknown && param != ParameterKind::other;
  if (!told || point == Point::not_told) return false;
  return (param == ParameterKind::floating) != (point == Point::floating);
}

bool confuses(const KernelRecord& record, std::size_t position, const ArgType& type) {
  return position < record.kinds.size() && confuses(record.kinds[position], type.kind);
}

/// What is wrong with an argument that does not fit.
std::string fault(const Parameter& param, std::uint32_t size, const ArgType& type) {
  if (param.size != size) {
    return fmt::format("takes {} bytes, but {}{} bytes were given ({})", param.size,
                       size == detail::most_told ? "at least " : "", size, type.name);
  }
  if (param.offset % std::min<std::uint32_t>(type.alignment, 16) != 0) {
    return fmt::format(
        "lies at offset {}, which is not aligned to the {} bytes of what was given ({})",
        param.offset, type.alignment, type.name);
  }
  return fmt::format("is aligned to more than the {} bytes of what was given ({})", type.alignment,
                     type.name);
}

std::string confusion(const KernelRecord& record, std::size_t position, const ArgType& type) {
  return fmt::format("is {}, but {} was given", parameter_types(record.info.symbol)[position],
                     type.name);
}

/// The first position whose argument does not fit; their count where all do. REQUIRES: as many are
/// given.
std::size_t first_misfit(const KernelRecord& record, const detail::GivenArgs& given) noexcept {
  const auto& params = record.info.params;
  std::size_t end = 0;
  std::size_t position = 0;
  for (; position < params.size(); ++position) {
    const Parameter& param = params[position];
    const ArgType& type = *given.types[position];
    if (!fits(param, end, given.layout[position].size, type) || confuses(record, position, type))
      break;
    end = std::size_t{param.offset} + param.size;
  }
  return position;
}

/// An attribute of the device or of the kernel. Where the driver does not tell, `otherwise`, which all so far
/// have.
template <class Attribute>
std::uint32_t limit_of(const KernelRecord& record, Attribute attribute, std::uint32_t otherwise) {
  int value = 0;
  const CUresult result = record.ask(attribute, value);
  return result == CUDA_SUCCESS && value >= 0 ? static_cast<std::uint32_t>(value) : otherwise;
}

void learn_limits(const KernelRecord& record) {
  LaunchLimits& limits = *record.limits;
  if (limits.known.load(std::memory_order_acquire)) return;
  const auto learn = [&](LaunchLimits::Limit& limit, CUdevice_attribute attribute,
                         std::uint32_t otherwise) {
    limit.store(limit_of(record, attribute, otherwise), std::memory_order_relaxed);
  };
  learn(limits.grid.x, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0x7fffffff);
  learn(limits.grid.y, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535);
  learn(limits.grid.z, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535);
  learn(limits.block.x, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024);
  learn(limits.block.y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024);
  learn(limits.block.z, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64);
  const auto threads = limit_of(record, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                                limit_of(record, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024));
  limits.threads.store(threads, std::memory_order_relaxed);
  // Where another thread has raised this limit meanwhile, it stays.
  std::uint32_t nothing = 0;
  limits.dynamic_shared.compare_exchange_strong(
      nothing, limit_of(record, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0));
  limits.known.store(true, std::memory_order_release);
}

/// What is wrong with one dimension, or nothing.
std::string size_fault(const char* what, const Dim3& size, const LaunchLimits::Limit3& limit) {
  const auto fault_in = [&](char name, std::uint32_t given, std::uint32_t most) {
    if (given == 0) return fmt::format("{} {}: no dimension may be 0", what, text_of(size));
    if (given <= most) return std::string();
    return fmt::format("{} {}: {} is {}, and the device takes {} at most", what, text_of(size),
                       name, given, most);
  };
  std::string text = fault_in('x', size.x, limit.x);
  if (text.empty()) text = fault_in('y', size.y, limit.y);
  if (text.empty()) text = fault_in('z', size.z, limit.z);
  return text;
}

Outcome check_sizes(const KernelRecord& record, const LaunchConfig& config) {
  const LaunchLimits& limits = *record.limits;
  std::string text = size_fault("grid", config.grid, limits.grid);
  if (text.empty()) text = size_fault("block", config.block, limits.block);
  const Dim3& block = config.block;
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  if (text.empty() && threads > limits.threads) {
    text = fmt::format("block {}: it has {} threads, and this kernel takes {} at most",
                       text_of(block), threads, limits.threads.load());
  }
  if (text.empty()) return {};
  return refuse(record, text);
}

Outcome raise(const KernelRecord& record, CUfunction_attribute attribute, std::uint32_t value,
              const char* what) {
  const CUresult result = record.driver->functions().kernel_set_attribute(
      attribute, static_cast<int>(value), record.kernel, record.device);
  if (result == CUDA_SUCCESS) return {};
  return record.driver->failure(fmt::format("kernel '{}': cannot raise its limit of {} to {}",
                                            record.info.expression, what, value),
                                result);
}

/// Raises the limit to all that the device has, so that threads that ask for different sizes do not undo each
/// other's.
Outcome allow_shared_bytes(const KernelRecord& record, std::uint32_t bytes) {
  LaunchLimits& limits = *record.limits;
  if (bytes <= limits.dynamic_shared) return {};
  const std::uint32_t own =
      limit_of(record, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, record.info.shared_bytes);
  const std::uint32_t device =
      limit_of(record, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 48 * 1024);
  if (std::uint64_t{bytes} + own > device) {
    return refuse(record, fmt::format("{} bytes of dynamic shared memory and the kernel's own {} "
                                      "are more than the {} that the device gives a block",
                                      bytes, own, device));
  }
  auto raised = raise(record, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, device - own,
                      "dynamic shared memory");
  if (raised) limits.dynamic_shared = device - own;
  return raised;
}

bool has_zero(const Dim3& size) { return size.x == 0 || size.y == 0 || size.z == 0; }

bool divides(const Dim3& part, const Dim3& whole) {
  return whole.x % part.x == 0 && whole.y % part.y == 0 && whole.z % part.z == 0;
}

std::uint64_t blocks_of(const Dim3& cluster) {
  return std::uint64_t{cluster.x} * cluster.y * cluster.z;
}

/// What is wrong with the two sizes of clusters, or nothing.
std::string cluster_fault(const LaunchConfig& config) {
  const Dim3& cluster = config.cluster;
  const Dim3& preferred = config.preferred_cluster;
  if (has_zero(cluster)) {
    return is_set(cluster)
               ? fmt::format("cluster {}: no dimension may be 0", text_of(cluster))
               : fmt::format("a preferred cluster of {} needs a cluster", text_of(preferred));
  }
  if (!divides(cluster, config.grid)) {
    return fmt::format("grid {} is not divisible by the cluster {}", text_of(config.grid),
                       text_of(cluster));
  }
  if (!is_set(preferred)) return {};
  if (has_zero(preferred) || !divides(cluster, preferred) || preferred.z != cluster.z) {
    return fmt::format("the preferred cluster {} is no multiple of the cluster {} in x and y",
                       text_of(preferred), text_of(cluster));
  }
  if (divides(preferred, config.grid)) return {};
  return fmt::format("grid {} is not divisible by the preferred cluster {}", text_of(config.grid),
                     text_of(preferred));
}

/// Clusters of more than 8 blocks are not portable, and a kernel must be told that it may have them.
Outcome allow_cluster_blocks(const KernelRecord& record, std::uint64_t blocks) {
  constexpr std::uint32_t most = 16;
  LaunchLimits& limits = *record.limits;
  if (blocks <= limits.cluster_blocks) return {};
  if (blocks > most) {
    return refuse(record, fmt::format("a cluster of {} blocks: a cluster has {} at most, and 8 on "
                                      "every device",
                                      blocks, most));
  }
  auto raised = raise(record, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1,
                      "non-portable clusters");
  if (raised) limits.cluster_blocks = most;
  return raised;
}

Outcome check_clusters(const KernelRecord& record, const LaunchConfig& config) {
  if (!is_set(config.cluster) && !is_set(config.preferred_cluster)) return {};
  if (limit_of(record, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 1) == 0) {
    return refuse(
        record, "clusters need a device of compute capability 9.0 or above, and this one has none");
  }
  if (const std::string text = cluster_fault(config); !text.empty()) return refuse(record, text);
  return allow_cluster_blocks(
      record, std::max(blocks_of(config.cluster), blocks_of(config.preferred_cluster)));
}

Outcome check_device(const KernelRecord& record, const LaunchConfig& config) {
  if (config.cooperative && limit_of(record, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1) == 0) {
    return refuse(record, "this device has no cooperative launches");
  }
  if (config.shared_carveout && *config.shared_carveout > 100) {
    return refuse(record, fmt::format("a shared memory carve-out of {} per cent: 100 is all",
                                      *config.shared_carveout));
  }
  return {};
}

}  // namespace

std::string text_of(const Dim3& size) { return fmt::format("{}x{}x{}", size.x, size.y, size.z); }

bool takes(const KernelRecord& record, const detail::GivenArgs& given) noexcept {
  const auto& params = record.info.params;
  if (!record.info.params_known) return true;
  if (given.count != params.size() || first_misfit(record, given) != params.size()) return false;
  record.taken->remember(given);
  return true;
}

tl::unexpected<Error> argument_error(const KernelRecord& record, const detail::GivenArgs& given) {
  const auto& params = record.info.params;
  if (given.count != params.size()) {
    return mismatch(record,
                    fmt::format(" takes {} arguments, {} were given", params.size(), given.count));
  }
  const std::size_t at = first_misfit(record, given);
  const auto place = fmt::format(": argument {} of {} ", at + 1, params.size());
  const auto size = given.layout[at].size;
  const ArgType& type = *given.types[at];
  if (params[at].size == size && confuses(record, at, type))
    return mismatch(record, place + confusion(record, at, type));
  return mismatch(record, place + fault(params[at], size, type));
}

Outcome check_fits(const KernelRecord& record, const Args& args) {
  if (args.fits()) return {};
  return mismatch(record, fmt::format(": {} arguments were given, which together are larger than "
                                      "the {} bytes that CUDA takes",
                                      args.size(), Args::max_bytes));
}

Outcome check_alive(const KernelRecord& record) {
  if (!record.limits->ended) return {};
  return refuse(record,
                "the runtime that gave it has ended; let the Runtime live as long as its kernels");
}

bool attributes_are_plain(const KernelRecord& record, const LaunchConfig& config) noexcept {
  const Dim3& cluster = config.cluster;
  const bool clusters_are_plain =
      !is_set(cluster) || (!has_zero(cluster) && divides(cluster, config.grid) &&
                           blocks_of(cluster) <= record.limits->cluster_blocks);
  return clusters_are_plain && !is_set(config.preferred_cluster) &&
         config.shared_carveout.value_or(0) <= 100;
}

Outcome prepare_launch(const KernelRecord& record, const LaunchConfig& config) {
  if (auto alive = check_alive(record); !alive) return alive;
  learn_limits(record);
  if (auto sound = check_sizes(record, config); !sound) return sound;
  if (auto sound = check_clusters(record, config); !sound) return sound;
  if (auto sound = check_device(record, config); !sound) return sound;
  return allow_shared_bytes(record, config.shared_bytes);
}

}  // namespace kiln
