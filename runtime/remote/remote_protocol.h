#pragma once

// What the library asks kiln-remote, its helper that talks to a store's server, and what that answers. Both are of one build: the
// helper's socket is named after it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/wire_record.h"
#include "kiln/cache_trust.h"
#include "kiln/digest.h"
#include "kiln/error.h"
#include "kiln/remote.h"
#include "remote/remote_address.h"

namespace kiln::wire {
template <>
inline constexpr auto last<RemoteAddress::Kind> = RemoteAddress::Kind::s3;
}  // namespace kiln::wire

namespace kiln::remote {

// Each call has a Reply. Errors of all of them: timed_out, where the answer did not come within the call's budget; io_failed, where
// the server failed; cache_unusable, where it failed so often that it is not asked for a while; too_large.

/// What one helper serves: a store, as somebody sees it.
struct Introduction {
  using Reply = bool;  ///< False from one that serves somebody with other keys or passwords.
  std::string build;   ///< build_identity(): another one's records may be others.
  RemoteAddress address;
  CacheTrust trust;          ///< Whose files serve, of a folder.
  std::string trusted_keys;  ///< As TrustedKeys::read() takes them; empty for none.
  /// A digest of what the helper takes from its environment; empty where that is nothing.
  std::string environment = {};
};

struct WireHint {
  std::string object;
  std::string record;
};

struct Heard {
  std::vector<WireHint> hints;
  /// Of the only hint, where it came along and is not large: most requests have one answer, which is asked for next.
  std::optional<std::string> object = {};
};

/// ObjectStore::hints(). What this helper has heard a moment ago does as well, unless it is to be fresh.
struct AskHints {
  using Reply = Heard;
  Digest request;
  std::uint64_t most = 0;
  bool fresh = false;
  std::uint64_t budget_us = 0;
  bool hasty = true;  ///< Whoever asks could do without the answer.
  bool with_object = false;
};

/// ObjectStore::get().
struct GetObject {
  using Reply = std::optional<std::string>;
  std::string name;
  std::uint64_t most_bytes = 0;
  std::uint64_t budget_us = 0;
  bool hasty = true;
};

/// ObjectStore::put().
struct PutObject {
  using Reply = bool;
  std::string name;
  std::string bytes;
};

/// ObjectStore::add_hint().
struct AddHint {
  using Reply = bool;
  Digest request;
  std::string name;
  std::string record;
};

/// ObjectStore::requests().
struct ListRequests {
  using Reply = std::vector<Digest>;
  bool all = true;
};

/// The cache of whoever asks.
struct CacheOfCaller {
  std::string directory;
  std::uint64_t max_bytes = 0;
  bool plain_images = false;
};

/// Puts this entry of a cache into the store some time, and then gives a lease of this connection back.
struct PushEntry {
  using Reply = bool;  ///< False where too many wait already.
  CacheOfCaller cache;
  Digest key;
  std::string lease;  ///< Empty for none.
};

/// Puts what the store has for this request into a cache some time.
struct AdmitEntries {
  using Reply = bool;
  CacheOfCaller cache;
  Digest request;
};

/// How somebody who asked for a lease fared: as the helper's LeaseAnswer; or the server did not say in time, or gives none.
enum class LeaseState : std::uint8_t { taken, held, failed, late, unavailable };
[[nodiscard]] inline LeaseState state_of(const Result<LeaseState>& answer) {
  if (answer) return *answer;
  return answer.error().code == ErrorCode::timed_out ? LeaseState::late : LeaseState::unavailable;
}

/// Takes a lease, which is prolonged as long as this connection stands and its process is not stopped.
struct TakeLease {
  using Reply = LeaseState;
  std::string name;
  std::uint64_t budget_us = 0;
};

struct ReleaseLease {
  using Reply = bool;
  std::string name;
  bool failed = false;  ///< Nothing came of it, and whoever waits is told.
};

/// Somebody waited so long for a lease's holder, who made nothing for him. The helper leaves leases alone that cost too much.
struct TellVainWait {
  using Reply = bool;
  std::uint64_t waited_us = 0;
};

/// What the helper knows of the server.
struct AskStatus {
  using Reply = RemoteStatus;
  bool reach = false;  ///< Asks the server something first, to measure it.
};

using Call =
    std::variant<Introduction, AskHints, GetObject, PutObject, AddHint, ListRequests, PushEntry,
                 AdmitEntries, TakeLease, ReleaseLease, TellVainWait, AskStatus>;

/// A call's or an answer's bytes are no more than this.
inline constexpr std::uint64_t most_message_bytes = std::uint64_t{288} << 20;

/// A helper that nobody is connected to ends after this time. Seconds.
inline constexpr int idle_seconds = 60;

// The bindings name every member, so that one that is added stops the build here.

void visit(auto& record, wire::Of<Introduction> auto& call) {
  auto& [build, address, trust, trusted_keys, environment] = call;
  record.fields(build, address, trust, trusted_keys, environment);
}
void visit(auto& record, wire::Of<WireHint> auto& hint) {
  auto& [object, bytes] = hint;
  record.fields(object, bytes);
}
void visit(auto& record, wire::Of<Heard> auto& heard) {
  auto& [hints, object] = heard;
  record.fields(hints, object);
}
void visit(auto& record, wire::Of<AskHints> auto& call) {
  auto& [request, most, fresh, budget, hasty, with_object] = call;
  record.fields(request, most, fresh, budget, hasty, with_object);
}
void visit(auto& record, wire::Of<GetObject> auto& call) {
  auto& [name, most_bytes, budget, hasty] = call;
  record.fields(name, most_bytes, budget, hasty);
}
void visit(auto& record, wire::Of<PutObject> auto& call) {
  auto& [name, bytes] = call;
  record.fields(name, bytes);
}
void visit(auto& record, wire::Of<AddHint> auto& call) {
  auto& [request, name, bytes] = call;
  record.fields(request, name, bytes);
}
void visit(auto& record, wire::Of<ListRequests> auto& call) {
  auto& [all] = call;
  record.fields(all);
}
void visit(auto& record, wire::Of<CacheOfCaller> auto& cache) {
  auto& [directory, max_bytes, plain_images] = cache;
  record.fields(directory, max_bytes, plain_images);
}
void visit(auto& record, wire::Of<PushEntry> auto& call) {
  auto& [cache, key, lease] = call;
  record.fields(cache, key, lease);
}
void visit(auto& record, wire::Of<AdmitEntries> auto& call) {
  auto& [cache, request] = call;
  record.fields(cache, request);
}
void visit(auto& record, wire::Of<TakeLease> auto& call) {
  auto& [name, budget_us] = call;
  record.fields(name, budget_us);
}
void visit(auto& record, wire::Of<ReleaseLease> auto& call) {
  auto& [name, failed] = call;
  record.fields(name, failed);
}
void visit(auto& record, wire::Of<TellVainWait> auto& call) {
  auto& [waited_us] = call;
  record.fields(waited_us);
}
void visit(auto& record, wire::Of<AskStatus> auto& call) {
  auto& [reach] = call;
  record.fields(reach);
}
}  // namespace kiln::remote

namespace kiln::wire {
template <>
inline constexpr auto last<remote::LeaseState> = remote::LeaseState::unavailable;
}  // namespace kiln::wire

namespace kiln {

void visit(auto& record, wire::Of<CacheTrust> auto& trust) {
  auto& [others, owners, any_owner, group] = trust;
  record.fields(others, owners, any_owner, group);
}

void visit(auto& record, wire::Of<RemoteStatus> auto& status) {
  auto& [resting, last_failure, round_trip_us, gives_leases, asked, found, failures, slow, pushed,
         duplicates, dropped, waiting, lease_waits] = status;
  record.fields(resting, last_failure, round_trip_us, gives_leases, asked, found, failures, slow,
                pushed, duplicates, dropped, waiting, lease_waits);
}

void visit(auto& record, wire::Of<RemoteAddress> auto& address) {
  auto& [kind, url, read_only, parents, timeout, endpoint, region] = address;
  record.fields(kind, url, read_only, parents, timeout, endpoint, region);
}

}  // namespace kiln
