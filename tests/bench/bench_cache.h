#pragma once

// All that the benchmarks ask of kiln::Cache, in one place.

#include <filesystem>
#include <optional>

#include "bench_sample.h"
#include "kiln/cache.h"

namespace kiln::bench {

/// Each of these ends the process where the cache fails: nothing can be measured then.
[[nodiscard]] Cache open_cache(const std::filesystem::path& directory);
void put(Cache& cache, const Sample& sample);

/// A hit of the sample's request. Ends the process on a miss.
[[nodiscard]] Artifact find(Cache& cache, const Request& request);

[[nodiscard]] std::uint64_t database_bytes(Cache& cache);

}  // namespace kiln::bench
