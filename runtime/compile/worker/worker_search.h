#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "kiln/settings.h"
#include "vendor/helper_search.h"

namespace kiln {

/// Looks for kiln-worker; where `exact` is given, only there.
[[nodiscard]] HelperSearch find_worker(const std::optional<std::filesystem::path>& exact);

/// Of a search that found none: where it looked, and what to do.
[[nodiscard]] std::string describe_missing(const HelperSearch& search);

/// Whether somebody asked for workers. By default they are used where kiln-worker is found.
[[nodiscard]] bool asks_for_workers(const Settings& settings);

/// How many workers `wanted` means on this machine. automatic_workers means one for each core that this
/// process may use, but no more than the memory is enough for, with a large compile in each.
[[nodiscard]] std::size_t workers_for(unsigned wanted);

/// How much address space a worker may use, in bytes.
struct WorkerMemory {
  std::uint64_t usual = 0;
  std::uint64_t most = 0;  ///< For a compile that has run out of the usual.
};

/// How much address space a process may have that this one starts, in bytes: its own hard limit.
[[nodiscard]] std::uint64_t most_address_space();

/// The limits on this machine for so many workers, at most most_address_space(). What is wanted is both, unless it is
/// automatic_memory.
[[nodiscard]] WorkerMemory memory_for(std::uint64_t wanted, std::size_t workers);

/// The same on a machine with so much memory.
[[nodiscard]] WorkerMemory memory_for(std::uint64_t wanted, std::size_t workers,
                                      std::uint64_t machine);

}  // namespace kiln
