#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

#include "bench_sample.h"

namespace kiln::bench {

/// The folder of this run's data, removed at its end: in KILN_BENCH_DIR, or else in the current one, so
/// that it lies on a disk, which a temporary directory often does not.
[[nodiscard]] const std::filesystem::path& data_folder();

/// A new cache directory of this name with the entries of numbers below `entries`. They are put in memory
/// and copied, because each put on a disk waits for it.
[[nodiscard]] std::filesystem::path make_cache(
    const std::string& name, std::size_t entries,
    const std::function<Sample(std::uint64_t)>& sample = [](std::uint64_t number) {
      return make_sample(number);
    });

/// The same entries in a kiln cache and in both kinds of file cache.
struct Population {
  std::size_t entries;
  std::filesystem::path cache;
  std::filesystem::path flat_files;
  std::filesystem::path fanned_files;
};

/// Made at its first use and kept until the end of the run; on the disk and in the system's memory.
[[nodiscard]] const Population& population(std::size_t entries);

}  // namespace kiln::bench
