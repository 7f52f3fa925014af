#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/reporter.h"
#include "base/single_flight.h"
#include "compile/compile_service.h"
#include "image/served_artifact.h"
#include "image/toolchains.h"
#include "kiln/cache.h"
#include "kiln/error.h"
#include "kiln/explain.h"
#include "kiln/settings.h"
#include "lookup/fitness.h"
#include "lookup/layers.h"
#include "lookup/look_up_counters.h"
#include "lookup/served_handles.h"
#include "manifest/recorder.h"
#include "queue/compile_control.h"
#include "queue/repeated_preludes.h"
#include "source/closure.h"
#include "source/header_files.h"
#include "source/query.h"
#include "vendor/installed_compiler.h"

namespace kiln {

/// From a query to its artifact: source, fingerprint, look-up, compile, store. Safe to use from any thread.
class Pipeline {
 public:
  /// What it works with; borrowed. `mode` says at any time what becomes of a miss.
  struct Tools {
    const Reporter& reporter;
    InstalledCompiler& compiler;
    Layers& layers;
    CompileService& service;
    HeaderFiles& files;
    const std::atomic<Mode>& mode;
  };

  Pipeline(const Settings& settings, const Tools& tools);

  /// What this handle was served before, where this process still keeps it.
  [[nodiscard]] std::optional<ServedArtifact> served_before(const Program& program,
                                                            const Target& target);

  /// What can be had without a compiler; nothing for a miss, which is not counted.
  [[nodiscard]] std::optional<ServedArtifact> at_hand(const Query& query);

  /// As at_hand(), for the first of several queries that any layer serves with something that the driver
  /// takes; what is written down is that `asked` was.
  [[nodiscard]] std::optional<ServedArtifact> stored(const Query& query, const Query& asked,
                                                     const Loading& loading);

  /// Looks up, or compiles and stores: once for all threads and processes that ask together. Errors: those
  /// of Runtime::compile(), cancelled.
  [[nodiscard]] Result<ServedArtifact> obtain(const Query& query, const CompileControl& control);

  /// Runtime::explain().
  [[nodiscard]] Explanation explain(const Query& query);

  /// The driver does not take this image: no layer serves it any more.
  void forget(const Digest& key);

  /// Preludes that repeat are announced here.
  [[nodiscard]] RepeatedPreludes& expected() noexcept { return expected_; }

  struct Counters {
    LookUpCounters look_ups;
    std::atomic<std::uint64_t> compiles{0};
    std::atomic<std::uint64_t> precompiled{0};
    std::atomic<std::uint64_t> not_kept{0};
  };
  [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

 private:
  Result<ServedArtifact> share_or_obtain(const Query& query, const Digest& flight,
                                         const CompileControl& control);
  /// What no layer has: what it may read, why, and how long that took to find out.
  struct Miss {
    Closure closure;
    std::string why;
    double milliseconds;
  };
  Result<ServedArtifact> compile_missing(const Query& query, const Miss& miss,
                                         const CompileControl& control);
  Result<ServedArtifact> compile_in_turn(const Query& query, const Closure& closure,
                                         std::string why, const CompileControl& control);
  Result<ServedArtifact> compile_and_store(const Query& query, Closure closure,
                                           const CompileControl& control);
  Digest turn_of(const Query& query, const Closure& closure);
  bool repeats(const Query& query) const;
  std::optional<ServedArtifact> look_up(const Query& query, std::string& why_not,
                                        std::optional<Loading> loading = {});
  void warn_of_not_kept(const Artifact& artifact);
  void warn_of_trust(const Artifact& artifact, const std::string& remark);
  void keep(const Query& query, Closure& closure, const Toolchain& toolchain,
            const std::shared_ptr<const Artifact>& artifact,
            std::chrono::system_clock::time_point before);
  void store(const Query& query, const Closure& closure, const Toolchain& toolchain,
             const Artifact& artifact, std::chrono::system_clock::time_point before);
  void record(const Query& query, const Digest& flight, const Result<ServedArtifact>& obtained);
  Explanation explain_miss(const Query& query, std::string reason, const AlikeLimits& limits);
  Error not_cached(const Query& query, const std::string& why);

  const Tools tools_;
  const std::chrono::milliseconds patience_;
  const EligibleToolchains eligible_;
  std::optional<Recorder> recorder_;
  ServedHandles served_;
  RepeatedPreludes expected_;
  SingleFlight<Result<ServedArtifact>> flights_;
  Counters counters_;
  std::atomic<std::uint64_t> landings_{0};  ///< Compiles whose results can be looked up.
  std::atomic<bool> warned_of_trust_{false};
  std::mutex warned_mutex_;
  std::set<Digest> warned_;          ///< The entries that were taken on trust.
  std::set<std::string> warned_of_;  ///< The programs that are not kept.
};

}  // namespace kiln
