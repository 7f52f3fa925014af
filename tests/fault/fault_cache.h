#pragma once

#include <cstdint>
#include <filesystem>

#include "kiln/cache.h"
#include "support.h"

namespace kiln::test {

// All that these tests ask of kiln::Cache, so that a change of its interface is a change here alone.

/// Whether a fresh Cache works where the file in use is corrupt. One that does not must refuse it.
inline constexpr bool mends_a_corrupt_file = true;

[[nodiscard]] Result<Cache> open_to_write(const std::filesystem::path& folder);
[[nodiscard]] Result<Cache> open_to_read(const std::filesystem::path& folder);
[[nodiscard]] Outcome put(Cache& cache, const Sample& sample);

/// As Cache::find(), and also expects that each candidate is what was put.
[[nodiscard]] std::optional<Artifact> find_checked(Cache& cache, const Sample& sample);

/// Reads the entry, its source and the sums, and expects nothing that was not put.
void inspect_checked(Cache& cache, const Sample& sample);

/// The database that a new cache makes.
[[nodiscard]] std::filesystem::path database_of(const std::filesystem::path& folder);

/// The counters that tell that something went wrong, and the others.
struct Tally {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t stores = 0;
  std::uint64_t faults = 0;  ///< Damage that was met, and errors of any kind.
};
[[nodiscard]] Tally tally_of(const Cache& cache);

}  // namespace kiln::test
