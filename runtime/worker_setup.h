#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>

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

/// How many workers that is on this machine: automatic_workers means one for each core that this process
/// may use, and for each so much memory as a large compile takes.
[[nodiscard]] std::size_t workers_for(unsigned wanted);

}  // namespace kiln
