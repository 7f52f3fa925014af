#pragma once

#include <atomic>
#include <cstdint>

#include "kiln/artifact.h"

namespace kiln {

/// What a runtime's look-ups came to, and what followed from the misses. Safe to use from any thread.
struct LookUpCounters {
  std::atomic<std::uint64_t> memory_hits{0};
  std::atomic<std::uint64_t> local_hits{0};
  std::atomic<std::uint64_t> bundle_hits{0};
  std::atomic<std::uint64_t> remote_hits{0};
  std::atomic<std::uint64_t> misses{0};
  std::atomic<std::uint64_t> waits{0};        ///< For another process that was making the same.
  std::atomic<std::uint64_t> lease_waits{0};  ///< For another machine.
  std::atomic<std::uint64_t> compiles{0};
  std::atomic<std::uint64_t> precompiled{0};  ///< Compiles that used a precompiled header.
  std::atomic<std::uint64_t> combined{0};     ///< Images made of images.
  std::atomic<std::uint64_t> not_kept{0};
  std::atomic<std::uint64_t> stores{0};

  void count_hit(Origin origin) noexcept {
    ++(origin == Origin::memory   ? memory_hits
       : origin == Origin::bundle ? bundle_hits
       : origin == Origin::remote ? remote_hits
                                  : local_hits);
  }
};

}  // namespace kiln
