#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "fault_cache.h"

namespace kiln::test {

/// Rule U: whatever happens to the disk, nothing crashes or hangs, what is served is what was put, and
/// once the disk is well the next put and get work. Keeps what was put, so that it can tell.
class RuleU {
 public:
  /// That this is being put: from now on it may be served, and what its key named before as well.
  void offered(const Sample& sample);
  /// That the put has been acknowledged.
  void stored(const Sample& sample);
  [[nodiscard]] bool acknowledged(const Sample& sample) const;

  /// Expects a miss or one of the versions that were put.
  void expect_right(const Sample& sample, const std::optional<Artifact>& served) const;

  /// Looks for everything in this cache, and expects each answer to be right.
  void expect_all_right(Cache& cache) const;

  /// Whether all that was acknowledged is served, in that version or one offered after it.
  [[nodiscard]] bool all_kept(Cache& cache) const;

  /// Expects a put and a get of something new to work.
  static void expect_works(Cache& cache);
  /// The same with a fresh Cache in this folder, after looking for everything in it.
  void expect_works_anew(const std::filesystem::path& folder) const;

 private:
  struct Versions {
    std::vector<Sample> offered;
    std::optional<std::size_t> stored;  ///< Index of the last one acknowledged.
  };
  [[nodiscard]] const Versions* versions_of(const Sample& sample) const;

  std::map<Digest, Versions> entries_;
};

/// The same entry as `sample` with another image.
[[nodiscard]] Sample new_version(Sample sample, unsigned seed);

}  // namespace kiln::test
