#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "kiln/settings.h"
#include "vendor/shared_library.h"

namespace kiln {

/// Where the helper program kiln-worker was looked for, and found.
struct WorkerSearch {
  std::filesystem::path executable;  ///< Empty where it was not found.
  std::vector<vendor::SearchStep> steps;
};

/// Looks where it is installed beside the library, and beside the program. `exact` goes alone.
[[nodiscard]] WorkerSearch find_worker(const std::optional<std::filesystem::path>& exact);

/// Of a search that found none: where it looked, and what to do.
[[nodiscard]] std::string describe_missing(const WorkerSearch& search);

/// Whether somebody said that there are to be workers: by default they are only used where they are found.
[[nodiscard]] bool asks_for_workers(const Settings& settings);

/// How many workers that is on this machine: automatic_workers means one for each core that this process
/// may use, and for each so much memory as a large compile takes.
[[nodiscard]] std::size_t workers_for(unsigned wanted);

/// What a worker may have of address space, in bytes.
struct WorkerMemory {
  std::uint64_t usual = 0;
  std::uint64_t most = 0;  ///< For a compile that has run out of the usual.
};

/// What that is on this machine, for so many workers; but for automatic_memory both are what is wanted.
[[nodiscard]] WorkerMemory memory_for(std::uint64_t wanted, std::size_t workers);

/// The same on a machine that has so much.
[[nodiscard]] WorkerMemory memory_for(std::uint64_t wanted, std::size_t workers,
                                      std::uint64_t machine);

}  // namespace kiln
