#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "asked_store.h"
#include "kiln/cache.h"
#include "kiln/remote.h"
#include "lease_book.h"
#include "remote/remote_protocol.h"

namespace kiln::remote {

/// Carries entries between caches of this machine and the server, one after the other, for who does not wait for it. Safe to use
/// from any thread; never destroyed.
class Deliveries {
 public:
  /// More are not kept waiting.
  static constexpr std::size_t most_waiting = 4096;

  struct Rules {
    CacheTrust trust;
    TrustedKeys keys;
    bool pushes;  ///< Whether the server may be written.
    std::chrono::milliseconds patience;
  };
  /// Borrows server and leases.
  Deliveries(Server& server, LeaseBook& leases, Rules rules);

  /// False where too many wait, or the server is not to be written. The lease is given back in any case, where it is still this
  /// holder's.
  bool add(PushEntry push, const LeaseBook::Holder& holder);
  bool add(AdmitEntries admit);

  /// Adds its own to what is known.
  void tell(RemoteStatus& status);

  [[nodiscard]] bool idle();

 private:
  using Job = std::variant<PushEntry, AdmitEntries>;

  void work();
  void carry(const PushEntry& push);
  void carry(const AdmitEntries& admit);
  [[nodiscard]] bool takes_nothing();
  void note(bool put, const std::string& lease);
  void forget_texts_at_times();
  [[nodiscard]] Cache* open(const CacheOfCaller& cache);

  LeaseBook& leases_;
  const Rules rules_;
  AskedStore store_;
  std::mutex mutex_;
  std::condition_variable to_do_;
  std::deque<Job> jobs_;
  bool busy_ = false;
  bool takes_nothing_ = false;  ///< The server, when something was put there last.
  std::uint64_t pushed_ = 0;
  std::uint64_t duplicates_ = 0;
  std::uint64_t dropped_ = 0;
  // Of the thread:
  std::string opened_;  ///< The directory of the cache that is open.
  std::optional<Cache> cache_;
  std::set<std::string> texts_there_;
  std::chrono::steady_clock::time_point forgets_texts_{};
};

}  // namespace kiln::remote
