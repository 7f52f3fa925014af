#pragma once

#include <atomic>
#include <cstdint>

#include "kiln/artifact.h"

namespace kiln {

/// What look-ups came to, and what followed from the misses. Safe to use from any thread.
struct LookUpCounters {
  std::atomic<std::uint64_t> memory_hits{0};
  std::atomic<std::uint64_t> local_hits{0};
  std::atomic<std::uint64_t> bundle_hits{0};
  std::atomic<std::uint64_t> misses{0};
  std::atomic<std::uint64_t> waits{0};  ///< For another process that was making the same.
  std::atomic<std::uint64_t> stores{0};

  void count_hit(Origin origin) noexcept {
    ++(origin == Origin::memory   ? memory_hits
       : origin == Origin::bundle ? bundle_hits
                                  : local_hits);
  }
};

}  // namespace kiln
