#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/reporter.h"
#include "base/single_flight.h"
#include "image/served_artifact.h"
#include "kiln/error.h"
#include "kiln/settings.h"
#include "lookup/layers.h"
#include "lookup/look_up_counters.h"
#include "making.h"

namespace kiln {

/// Gets artifacts: from the layers, or made - once, for all threads and processes that ask together - and stored.
/// Tells the observer of each step. Safe to use from any thread.
class Obtainer {
 public:
  /// Borrows the first three. `mode` says at any time what becomes of a miss; `patience` is how long the turn of
  /// another process is waited for.
  Obtainer(Layers& layers, const Reporter& reporter, const std::atomic<Mode>& mode,
           std::chrono::milliseconds patience);

  /// What is there; the error says why nothing serves. A miss is not counted.
  [[nodiscard]] tl::expected<ServedArtifact, Miss> look_up(Making& making);

  /// Of an artifact that this process served before, and still has.
  void count_memory_hit(const Artifact& artifact);

  /// Looks up, or makes and stores. Errors: those of `making`; not_cached, cancelled.
  [[nodiscard]] Result<ServedArtifact> obtain(Making& making, const std::stop_token& stop);

  [[nodiscard]] const LookUpCounters& counters() const noexcept { return counters_; }

 private:
  using Clock = std::chrono::steady_clock;

  /// What a flight came to.
  struct Landing {
    Result<ServedArtifact> outcome;
    Clock::time_point began;  ///< No header was read for it earlier.
  };

  [[nodiscard]] Result<ServedArtifact> make_missing(Making& making, const Miss& miss,
                                                    double milliseconds,
                                                    const std::stop_token& stop);
  [[nodiscard]] Result<ServedArtifact> make_in_turn(Making& making, const Miss& miss,
                                                    const std::stop_token& stop);
  void count_miss(MissReason reason);
  /// From a store that machines share, where there is one.
  [[nodiscard]] std::optional<ServedArtifact> fetch(Making& making, Making::Heard heard);
  /// What another machine is making, which may take as long as the patience. Else this one makes it; with a lease, for others
  /// too.
  [[nodiscard]] std::optional<ServedArtifact> wait_for_others(Making& making,
                                                              std::unique_ptr<Lease>& lease,
                                                              const std::stop_token& stop);
  [[nodiscard]] Result<ServedArtifact> make_and_keep(Making& making, std::unique_ptr<Lease> lease,
                                                     const std::stop_token& stop);
  /// Whether it is in the local cache now.
  [[nodiscard]] bool store(const NewEntry& entry);
  void tell(EventKind kind, const Making& making, double milliseconds,
            std::string_view detail = {}) const;
  void warn_of_not_kept(const Artifact& artifact);
  void warn_of_trust(const Artifact& artifact, const std::string& remark);

  Layers& layers_;
  const Reporter& reporter_;
  const std::atomic<Mode>& mode_;
  const std::chrono::milliseconds patience_;
  SingleFlight<Landing> flights_;
  LookUpCounters counters_;
  std::atomic<std::uint64_t> landings_{0};  ///< Makings whose results can be looked up.
  std::atomic<bool> warned_of_trust_{false};
  std::mutex warned_mutex_;
  std::set<std::string> warned_of_;  ///< The programs that are not kept.
};

}  // namespace kiln
