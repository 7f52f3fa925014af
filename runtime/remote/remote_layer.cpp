#include "remote/remote_layer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/build_identity.h"
#include "kiln/cache.h"
#include "kiln/caller_state.h"
#include "kiln/remote.h"
#include "remote/helper_environment.h"
#include "remote/remote_store.h"
#include "vendor/helper_search.h"

namespace kiln {

using namespace std::chrono_literals;

using remote::CacheOfCaller;
using remote::HelperConnection;
using remote::HelperConnections;
using remote::LeaseState;
using remote::RemoteStore;

namespace {

/// In less, no server answers.
constexpr std::chrono::microseconds least_wait = 1ms;
/// The helper answers these by itself.
constexpr auto patience_with_helper = 1s;
/// The helper answers that the server was too slow; whoever waits for it waits a little longer than that may take.
constexpr auto grace_of_a_lease = 20ms;
constexpr auto grace = 500ms;

std::string text_of(const TrustedKeys& keys) {
  std::string text;
  for (const auto& key : keys.keys()) text += (text.empty() ? "" : ",") + key.text();
  return text;
}

std::shared_ptr<HelperConnections> helper_of(const RemoteAddress& address,
                                             const Settings& settings) {
  const auto search = find_remote_helper(settings);
  return std::make_shared<HelperConnections>(
      search.executable, describe_missing_helper(search),
      remote::Introduction{std::string(build_identity()), address, settings.cache_trust,
                           text_of(settings.trusted_keys), remote::environment_for(address)});
}

// The helper may have another environment, which would lead it elsewhere.
std::optional<CacheOfCaller> cache_of(const Settings& settings) {
  if (settings.cache_disabled || settings.cache_read_only || settings.cache_directory.empty())
    return std::nullopt;
  const auto place = place_of_cache(settings.cache_directory, settings.cache_trust).directory;
  if (place.empty()) return std::nullopt;
  return CacheOfCaller{place.string(), settings.cache_max_bytes, settings.cache_plain_images};
}

}  // namespace

HelperSearch find_remote_helper(const Settings& settings) {
  return find_helper("kiln-remote", "KILN_REMOTE_HELPER", settings.remote_helper);
}

std::string describe_missing_helper(const HelperSearch& search) {
  return fmt::format(
      "kiln-remote: not found, so no store that machines share is asked. Looked at:\n{}\n"
      "Install it beside the library, or name it with KILN_REMOTE_HELPER",
      vendor::describe(search.steps));
}

Lease::Lease(std::shared_ptr<HelperConnections> helper, HelperConnection connection,
             std::string name)
    : helper_(std::move(helper)), connection_(std::move(connection)), name_(std::move(name)) {}

Lease::~Lease() {
  if (connection_) release(true);
}

void Lease::give_back() { release(false); }

void Lease::release(bool failed) {
  static_cast<void>(connection_->ask(remote::ReleaseLease{name_, failed}, patience_with_helper));
  helper_->give_back(std::move(*connection_));
  connection_.reset();
}

void Lease::push(const CacheOfCaller& cache, const Digest& key) {
  static_cast<void>(connection_->ask(remote::PushEntry{cache, key, name_}, patience_with_helper));
  const bool is_lost = !connection_->works();
  helper_->give_back(std::move(*connection_));
  connection_.reset();
  // The helper ended meanwhile, and the lease with it. The next one puts the entry.
  if (is_lost)
    static_cast<void>(helper_->ask(remote::PushEntry{cache, key, {}}, patience_with_helper));
}

RemoteLayer::RemoteLayer(RemoteAddress address, const Settings& settings, const Reporter& reporter)
    : address_(std::move(address)),
      keys_(settings.trusted_keys),
      cache_(cache_of(settings)),
      reporter_(reporter),
      helper_(helper_of(address_, settings)) {}

std::optional<OfferedEntry> RemoteLayer::find(const Request& request, AskingTime& time, bool fresh,
                                              const Offer::Accept& accept, MissReason& why_not) {
  const auto left = left_of(time);
  if (left < least_wait) return std::nullopt;
  if (auto awake = wake_helper(); !awake) {
    lose(awake.error());
    return std::nullopt;
  }
  const AskingTime::Spending spending(time, account_);
  RemoteStore store(helper_, keys_, RemoteStore::Haste{left, fresh});
  const auto offers = Offer::list(store, request);
  if (!offers) {
    lose(offers.error());
    return std::nullopt;
  }
  const Offer::Accept accept_here = [&](const Candidate& candidate) {
    return !is_forgotten(candidate.key) && accept(candidate);
  };
  if (!offers->empty()) why_not = std::max(why_not, MissReason::unfit);
  for (const auto& offer : *offers) {
    // To follow what a store says takes time, too.
    if (store.is_late()) break;
    if (!offer.may_serve(accept_here)) continue;
    if (offer.compile_us() != 0 && !time.insists())
      store.hurry(std::chrono::microseconds(offer.compile_us()) /
                  AskingAccount::worth_of_a_compile);
    auto entry = offer.fetch(store, accept_here, why_not);
    if (!entry) {
      lose(entry.error());
      return std::nullopt;
    }
    if (!*entry) continue;
    account_.earn_spared(std::chrono::microseconds((*entry)->artifact.compile_us));
    return std::move(*entry);
  }
  return std::nullopt;
}

// Once: it stays slow for this process, which will ask less often.
std::chrono::microseconds RemoteLayer::left_of(const AskingTime& time) {
  const auto left = time.left(account_);
  if (left < least_wait && !account_.pays() && !warned_of_slowness_.exchange(true)) {
    reporter_.warn(fmt::format(
        "{} is asked less often: its answers take longer than they save here", address_.shown()));
  }
  return left;
}

// A process starts it once, which says nothing of the server.
Outcome RemoteLayer::wake_helper() {
  auto connection = helper_->take();
  if (!connection) return tl::unexpected(std::move(connection.error()));
  helper_->give_back(std::move(*connection));
  return {};
}

void RemoteLayer::admit(const Digest& request) {
  if (!cache_) return;
  static_cast<void>(helper_->ask(remote::AdmitEntries{*cache_, request}, patience_with_helper));
}

void RemoteLayer::push(const Digest& key, std::unique_ptr<Lease> lease) {
  if (lease) return lease->push(*cache_, key);
  static_cast<void>(helper_->ask(remote::PushEntry{*cache_, key, {}}, patience_with_helper));
}

RemoteLayer::Leased RemoteLayer::lease(const Digest& what, AskingTime& time) {
  const auto left = left_of(time);
  if (left < least_wait) return {};
  const AskingTime::Spending spending(time, account_);
  const auto name = what.hex() + digest_of(what.hex()).hex();
  auto connection = helper_->take();
  if (!connection) return {};
  const remote::TakeLease question{name, static_cast<std::uint64_t>(left.count())};
  const auto answer = connection->ask(question, left + grace_of_a_lease);
  const auto state = remote::state_of(answer);
  if (state == LeaseState::taken)
    return {state, std::make_unique<Lease>(helper_, std::move(*connection), name)};
  helper_->give_back(std::move(*connection));
  return {state};
}

void RemoteLayer::tell_vain_wait(std::chrono::microseconds waited) {
  const remote::TellVainWait told{static_cast<std::uint64_t>(waited.count())};
  static_cast<void>(helper_->ask(told, patience_with_helper));
}

void RemoteLayer::forget(const Digest& key) {
  const std::lock_guard lock(mutex_);
  forgotten_.insert(key);
}

bool RemoteLayer::is_forgotten(const Digest& key) {
  const std::lock_guard lock(mutex_);
  return forgotten_.contains(key);
}

// Once: a server that is down stays down for a while, and nobody is to read that for each kernel.
void RemoteLayer::lose(const Error& error) {
  // What comes too late serves whoever asks next; and a folder that is not there is made by who puts something there first.
  const bool is_to_be_made = error.code == ErrorCode::not_found && writable();
  if (error.code == ErrorCode::timed_out || is_to_be_made) return;
  // A server that is left alone was told of when it failed, in this process or in another.
  if (error.code != ErrorCode::cache_unusable) ++faults_;
  if (warned_.exchange(true)) return;
  // Errors of servers do, those of the helper do not.
  const auto shown = address_.shown();
  const bool names_it = error.message.find(shown) != std::string::npos;
  reporter_.warn(
      fmt::format("going on without {}: {}", names_it ? "a store" : shown, error.message));
}

Result<RemoteStatus> RemoteLayer::status(bool reach) {
  return helper_->ask(remote::AskStatus{reach}, address_.timeout + grace);
}

Result<std::unique_ptr<ObjectStore>> open_store(std::string_view url, const Settings& settings,
                                                StoreUse use) {
  const CallerState caller;
  const auto address = parse_remote(url);
  if (!address) return tl::unexpected(address.error());
  if (use == StoreUse::write && address->read_only) {
    return fail(ErrorCode::invalid_argument,
                address->shown() + " is named read-only: leave that out to put something there");
  }
  if (address->kind == RemoteAddress::Kind::file) {
    return open_file_store(address->path(),
                           {.create = use == StoreUse::write,
                            .parents = address->parents,
                            .read_only = address->read_only || use == StoreUse::look,
                            .trust = settings.cache_trust,
                            .trusted_keys = settings.trusted_keys});
  }
  return std::make_unique<RemoteStore>(helper_of(*address, settings), settings.trusted_keys,
                                       address->timeout + grace);
}

}  // namespace kiln
