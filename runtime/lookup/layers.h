#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/reporter.h"
#include "image/served_artifact.h"
#include "kiln/artifact.h"
#include "kiln/cache.h"
#include "kiln/remote.h"
#include "kiln/request.h"
#include "kiln/settings.h"
#include "lookup/memory_layer.h"
#include "lookup/why_not.h"
#include "remote/asking_time.h"
#include "remote/remote_layer.h"

namespace kiln {

/// The stores in the order in which they are asked: memory, the local cache, the bundles, and for what is to be made those that
/// machines share. One that cannot be used is told of once and left out. Safe to use from any thread.
class Layers {
 public:
  Layers(const Settings& settings, const Reporter& reporter);

  /// What is looked for. `roots` as a Witness has them. Borrowed, but for the last.
  struct Wanted {
    const Request& request;
    const Digest& digest;  ///< Of the request.
    AskingTime& asking_time;
    Digest roots = {};
  };

  /// Says whether a stored entry serves here.
  using Accept = MemoryLayer::Accept;

  /// The first artifact that `accept` takes. `why_not` is told of what could not be read.
  [[nodiscard]] std::optional<ServedArtifact> find(const Wanted& wanted, const Accept& accept,
                                                   WhyNot& why_not);

  /// What find() did not give, from the stores that machines share; fetch_anew() from them, and not from what was heard of them a
  /// moment ago. What is found is kept here too.
  [[nodiscard]] std::optional<ServedArtifact> fetch(const Wanted& wanted, const Accept& accept,
                                                    WhyNot& why_not);
  [[nodiscard]] std::optional<ServedArtifact> fetch_anew(const Wanted& wanted, const Accept& accept,
                                                         WhyNot& why_not);

  /// find() and its like.
  using Ask = std::optional<ServedArtifact> (Layers::*)(const Wanted&, const Accept&, WhyNot&);

  /// Whether there is any store that machines share.
  [[nodiscard]] bool has_remotes() const noexcept { return !remotes_.empty(); }

  /// The lease to make this for all machines that share a store.
  [[nodiscard]] RemoteLayer::Leased lease(const Digest& what, AskingTime& time);

  /// Whoever waited so long for that lease got nothing.
  void tell_vain_wait(std::chrono::microseconds waited);

  /// Puts an entry of the local cache into the stores that machines share, some time. Whether there are any.
  bool share(const Digest& key, std::unique_ptr<Lease> lease);

  [[nodiscard]] std::vector<RemoteState> remotes(bool reach);

  /// What find() would give, for somebody who only wants to know: nothing is counted or kept.
  [[nodiscard]] std::optional<ServedArtifact> peek(const Wanted& wanted, const Accept& accept,
                                                   WhyNot& why_not);

  /// A store that lasts: the local cache or a bundle. Valid as long as the layers.
  struct Store {
    Cache* cache;
    Origin origin;
  };
  /// In the order in which they are asked.
  [[nodiscard]] std::vector<Store> stores();

  /// Into memory; what was served from there counts like a hit of any layer.
  void remember(const Digest& request, DependencySet dependencies, const Toolchain& toolchain,
                std::shared_ptr<const Artifact> artifact);
  void count_memory_hit(const Artifact& artifact) noexcept;

  /// Of what this process made itself, or tried to.
  void note_compile(std::chrono::microseconds took) noexcept;

  /// Of a request that is to be made, once.
  void count_miss(MissReason reason) noexcept;

  /// Whether there is a cache that may be written.
  [[nodiscard]] bool writable() const noexcept { return writable_; }

  /// Into the local cache. Errors: as Cache::put(). REQUIRES: writable().
  [[nodiscard]] Outcome store(const NewEntry& entry) { return cache_->put(entry); }

  /// The turn to compile, among all processes that share the local cache; nothing where there is none.
  [[nodiscard]] std::optional<Turn> take_turn(const Digest& what,
                                              std::chrono::milliseconds patience,
                                              std::stop_token stop);

  /// Everything stored under this key, and a text that came with it; an error where no layer has it.
  [[nodiscard]] Result<StoredEntry> stored(const Digest& key);
  [[nodiscard]] Result<std::string> text(const Digest& digest);

  /// The driver does not take this image: it is not served again.
  void forget(const Digest& key);

  /// Keeps more in memory from now on: what is looked up ahead shall be there when it is asked for.
  void expect_prefetched();

  /// Why the local cache cannot be used; empty when it is well or disabled.
  [[nodiscard]] const std::string& cache_fault() const noexcept { return cache_fault_; }

  /// Damage and failures that were lived with, in all layers.
  [[nodiscard]] std::uint64_t faults() const noexcept;

 private:
  [[nodiscard]] RemoteLayer* giver_of_leases() const;
  void open_cache(const Settings& settings);
  void open_bundles(const Settings& settings);
  void lose(const std::string& what, const std::string& why);
  void open_remotes(const Settings& settings);
  [[nodiscard]] FaultCallback on_fault() const;
  [[nodiscard]] std::optional<ServedArtifact> fetch_from_remotes(const Wanted& wanted,
                                                                 const Accept& accept,
                                                                 WhyNot& why_not, bool anew);
  [[nodiscard]] std::optional<ServedArtifact> find_in(Cache& cache, const Wanted& wanted,
                                                      const Accept& accept, WhyNot& why_not);

  const Reporter& reporter_;
  MemoryLayer memory_;
  std::optional<Cache> cache_;
  std::vector<Cache> bundles_;
  std::vector<std::unique_ptr<RemoteLayer>> remotes_;
  bool writable_ = false;
  std::string cache_fault_;
  std::uint64_t lost_ = 0;
};

}  // namespace kiln
