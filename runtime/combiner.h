#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "base/reporter.h"
#include "base/single_flight.h"
#include "image/recipe.h"
#include "image/served_artifact.h"
#include "kiln/artifact.h"
#include "kiln/error.h"
#include "kiln/settings.h"
#include "lookup/layers.h"
#include "lookup/look_up_counters.h"
#include "vendor/library_search.h"

namespace kiln {

/// Gets images that are made of other images: from the layers, or made - once, for all threads and
/// processes that ask together - and stored. Safe to use from any thread.
class Combiner {
 public:
  /// Borrows all but the last. `mode` says at any time what becomes of a miss.
  Combiner(Layers& layers, const Reporter& reporter, const std::atomic<Mode>& mode,
           std::chrono::milliseconds patience);

  using Make = std::function<Result<Artifact>()>;

  /// Calls `make` where nothing serves that the tool of this machine made (or any did, where it has
  /// none). `make` is not stopped once it has begun. Errors: those of `make`; not_cached, cancelled.
  [[nodiscard]] Result<ServedArtifact> obtain(const Recipe& recipe,
                                              const vendor::LibrarySearch& tool, const Make& make,
                                              const std::stop_token& stop);

  [[nodiscard]] const LookUpCounters& look_ups() const noexcept { return look_ups_; }
  [[nodiscard]] std::uint64_t made() const noexcept { return made_; }

 private:
  struct Wanted;

  [[nodiscard]] Result<ServedArtifact> look_up_or_make(const Wanted& wanted,
                                                       const std::stop_token& stop);
  [[nodiscard]] std::optional<ServedArtifact> look_up(const Wanted& wanted, std::string& why_not);
  [[nodiscard]] Result<ServedArtifact> make_in_turn(const Wanted& wanted, std::string why,
                                                    const std::stop_token& stop);
  [[nodiscard]] Result<ServedArtifact> make_and_store(const Wanted& wanted);
  void store(const Wanted& wanted, const Artifact& artifact);
  void tell(EventKind kind, const Wanted& wanted, double milliseconds,
            std::string_view detail) const;

  Layers& layers_;
  const Reporter& reporter_;
  const std::atomic<Mode>& mode_;
  const std::chrono::milliseconds patience_;
  SingleFlight<Result<ServedArtifact>> flights_;
  LookUpCounters look_ups_;
  std::atomic<std::uint64_t> made_{0};
};

}  // namespace kiln
