#pragma once

// kiln/cache_trust.h: from whom a cache is taken, and with whom it is shared.
//
//     // A directory that root mounted, in a container where another user runs.
//     const auto cache = kiln::Cache::open("/mnt/kernels", {.trust = {.owners = {0}}}).value();

#include <cstdint>
#include <optional>
#include <vector>

namespace kiln {

/// Whose directories and files are accepted as a cache or bundle, beside the effective user's own that nobody else may
/// write. What they hold runs on the GPU, so by default it is nobody's.
struct CacheTrust {
  /// Accepts what others may write.
  bool others = false;
  /// Accepts what these users own, by their ids; 0 is root. A directory that root mounted, or a volume that another
  /// container filled, belongs to another user than the one who runs this.
  std::vector<std::uint32_t> owners = {};
  /// Accepts what anybody owns.
  bool any_owner = false;
  /// Shares the cache with the members of this group, by its id: the directory is the group's, with mode 2770, and each file in
  /// it is made 0660, whatever the umask. A directory that is not so is refused.
  std::optional<std::uint32_t> group = {};
};

}  // namespace kiln
