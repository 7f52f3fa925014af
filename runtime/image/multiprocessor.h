#pragma once

#include <cstdint>
#include <optional>

namespace kiln {

/// What one multiprocessor of a compute capability holds at one time.
struct Multiprocessor {
  int version;                 ///< 10 * major + minor, e.g. 90.
  std::uint32_t threads;       ///< Resident threads.
  std::uint32_t blocks;        ///< Resident blocks.
  std::uint32_t shared_bytes;  ///< Shared memory where the L1 cache leaves as much as it can.
  /// What the system takes of it for each block.
  std::uint32_t reserved_bytes;
  std::uint32_t shared_granularity;  ///< A block's share is a multiple of so many bytes.
};

// Alike for all of them.
inline constexpr std::uint32_t threads_of_a_warp = 32;
inline constexpr std::uint32_t most_threads_of_a_block = 1024;
inline constexpr std::uint32_t registers_of_a_multiprocessor = 65'536;
inline constexpr std::uint32_t quarters =
    4;  ///< Parts with a scheduler and registers of their own.
inline constexpr std::uint32_t register_granularity =
    256;  ///< A warp's share is a multiple of so many.

/// Nothing for a compute capability that is not known.
[[nodiscard]] std::optional<Multiprocessor> multiprocessor(int version);

}  // namespace kiln
