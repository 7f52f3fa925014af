#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/reporter.h"
#include "kiln/exchange.h"
#include "kiln/remote.h"
#include "kiln/settings.h"
#include "remote/asking_account.h"
#include "remote/asking_time.h"
#include "remote/helper_connections.h"
#include "remote/remote_address.h"
#include "vendor/helper_search.h"

namespace kiln {

/// Looks for kiln-remote; and, of a search that found none, where it looked, and what to do.
[[nodiscard]] HelperSearch find_remote_helper(const Settings& settings);
[[nodiscard]] std::string describe_missing_helper(const HelperSearch& search);

/// A lease: this machine makes what others ask for too. Its end gives it back, as one that nothing came of, and tells those who wait.
class Lease {
 public:
  Lease(std::shared_ptr<remote::HelperConnections> helper, remote::HelperConnection connection,
        std::string name);
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease();

  /// Gives it back: somebody else has made it.
  void give_back();

  /// Has the entry put into the store, and then the lease given back. Whoever waits for it finds the entry there.
  void push(const remote::CacheOfCaller& cache, const Digest& key);

 private:
  void release(bool failed);

  std::shared_ptr<remote::HelperConnections> helper_;
  std::optional<remote::HelperConnection> connection_;
  std::string name_;
};

/// A store that machines share, as a layer: what is missing here is asked for there, and costs no more than it may save. Safe to
/// use from any thread.
class RemoteLayer {
 public:
  /// Touches nothing. Borrows the reporter.
  RemoteLayer(RemoteAddress address, const Settings& settings, const Reporter& reporter);

  /// What it has for the request that `accept` takes, as far as there is time. `fresh`: what the helper heard a moment ago does not
  /// do. `why_not` tells of what does not serve.
  [[nodiscard]] std::optional<OfferedEntry> find(const Request& request, AskingTime& time,
                                                 bool fresh, const Offer::Accept& accept,
                                                 MissReason& why_not);

  /// Has a cache keep what was found for a request.
  void admit(const Digest& request);
  /// Has an entry of the cache put into the store.
  void push(const Digest& key, std::unique_ptr<Lease> lease);

  /// Whether this process puts anything there.
  [[nodiscard]] bool writable() const noexcept { return !address_.read_only && cache_; }

  /// How it went to ask for a lease.
  struct Leased {
    remote::LeaseState state = remote::LeaseState::unavailable;
    std::unique_ptr<Lease> lease = {};  ///< Where it is taken.
  };
  [[nodiscard]] Leased lease(const Digest& what, AskingTime& time);

  /// Whoever had the lease, or died with it, made nothing for who waited so long.
  void tell_vain_wait(std::chrono::microseconds waited);

  /// This process compiled something itself for so long: it may ask for more.
  void note_compile(std::chrono::microseconds took) noexcept { account_.earn_compiled(took); }

  /// The driver does not take this image: it is not served again.
  void forget(const Digest& key);

  [[nodiscard]] const RemoteAddress& address() const noexcept { return address_; }
  /// Errors: that it cannot be asked, and why. `reach`: asks the server itself.
  [[nodiscard]] Result<RemoteStatus> status(bool reach);

  /// Calls that failed, and that were lived with.
  [[nodiscard]] std::uint64_t faults() const noexcept { return faults_; }

 private:
  [[nodiscard]] bool is_forgotten(const Digest& key);
  [[nodiscard]] Outcome wake_helper();
  void lose(const Error& error);
  /// How long it may be waited for, of a call's time.
  [[nodiscard]] std::chrono::microseconds left_of(const AskingTime& time);

  const RemoteAddress address_;
  const TrustedKeys keys_;
  const std::optional<remote::CacheOfCaller> cache_;  ///< Nothing where it may not be written.
  const Reporter& reporter_;
  const std::shared_ptr<remote::HelperConnections> helper_;
  AskingAccount account_;
  std::atomic<std::uint64_t> faults_{0};
  std::mutex mutex_;
  std::set<Digest> forgotten_;
  std::atomic<bool> warned_{false};
  std::atomic<bool> warned_of_slowness_{false};
};

}  // namespace kiln
