#include "lookup/layers.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace kiln {

namespace {

// What is used once is loaded by then, and the cache has it still: to keep more costs a process pages that it has to be given,
// which take longer than reading.
constexpr std::size_t bytes_beside_cache = std::size_t{32} * 1024 * 1024;
constexpr std::size_t bytes_at_most = std::size_t{256} * 1024 * 1024;

std::uint64_t faults_of(const Cache& cache) {
  const auto counters = cache.counters();
  return counters[Counter::damaged_rows] + counters.errors();
}

}  // namespace

Layers::Layers(const Settings& settings, const Reporter& reporter)
    : reporter_(reporter), memory_(bytes_at_most) {
  open_cache(settings);
  if (cache_) memory_.limit_to(bytes_beside_cache);
  open_bundles(settings);
  open_remotes(settings);
}

FaultCallback Layers::on_fault() const {
  return [this](std::string_view line) { reporter_.warn(line); };
}

void Layers::expect_prefetched() { memory_.limit_to(bytes_at_most); }

// Without a usable cache the runtime goes on in memory, and says so once.
void Layers::open_cache(const Settings& settings) {
  if (settings.cache_disabled) return;
  cache_fault_ = settings.cache_fault;
  if (cache_fault_.empty()) {
    auto opened = Cache::open(
        settings.cache_directory,
        {.access = settings.cache_read_only ? Cache::Access::read_only : Cache::Access::read_write,
         .max_bytes = settings.cache_max_bytes,
         .trust = settings.cache_trust,
         .trusted_keys = settings.trusted_keys,
         .signing_key = settings.signing_key,
         .plain_images = settings.cache_plain_images,
         .on_fault = on_fault(),
         .tells_hits = settings.tells_hits});
    if (opened) {
      cache_.emplace(std::move(*opened));
      writable_ = cache_->writable();
    } else {
      cache_fault_ = opened.error().message;
    }
  }
  if (!cache_fault_.empty()) lose("going on without a cache on disk", cache_fault_);
}

void Layers::open_bundles(const Settings& settings) {
  const CacheOptions options{
      .trust = settings.cache_trust, .trusted_keys = settings.trusted_keys, .on_fault = on_fault()};
  const auto add = [&](Result<Cache> opened, std::string_view kind) {
    if (opened) {
      bundles_.push_back(std::move(*opened));
    } else {
      lose(fmt::format("going on without {}", kind), opened.error().message);
    }
  };
  for (const auto& file : settings.bundles)
    add(Cache::open_bundle(file, options), "a bundle (KILN_BUNDLES, RuntimeOptions::bundles)");
  for (const auto& bytes : settings.embedded_bundles)
    add(Cache::open_bundle(bytes, options), "an embedded bundle");
}

void Layers::open_remotes(const Settings& settings) {
  auto addresses = parse_remotes(settings.remotes);
  if (!addresses) return lose("going on without stores of others", addresses.error().message);
  for (auto& address : *addresses)
    remotes_.push_back(std::make_unique<RemoteLayer>(std::move(address), settings, reporter_));
}

void Layers::lose(const std::string& what, const std::string& why) {
  ++lost_;
  reporter_.warn(fmt::format("{}: {}", what, why));
}

std::optional<ServedArtifact> Layers::find(const Wanted& wanted, const Accept& accept,
                                           WhyNot& why_not) {
  if (auto artifact = memory_.find(wanted.digest, wanted.roots, accept)) {
    count_memory_hit(*artifact);
    return ServedArtifact{std::move(artifact), Origin::memory};
  }
  for (const auto& store : stores()) {
    auto found = find_in(*store.cache, wanted, accept, why_not);
    if (!found) continue;
    if (store.origin == Origin::bundle && cache_)
      cache_->count_hit(Origin::bundle, found->artifact->compile_us);
    return found;
  }
  return std::nullopt;
}

std::optional<ServedArtifact> Layers::find_in(Cache& cache, const Wanted& wanted,
                                              const Accept& accept, WhyNot& why_not) {
  DependencySet dependencies;
  Witness witness;
  Toolchain toolchain;
  const auto note_accepted = [&](const Candidate& candidate) {
    if (!accept(candidate.dependencies, candidate.toolchain, candidate.witness,
                candidate.signed_texts))
      return false;
    dependencies = std::move(candidate.dependencies);
    witness = candidate.witness != nullptr ? *candidate.witness : Witness{};
    toolchain = candidate.toolchain;
    return true;
  };
  MissReason reason = MissReason::none;
  auto found = cache.find(wanted.request, wanted.roots, note_accepted, &reason);
  why_not.note(reason);
  if (!found) return std::nullopt;
  auto artifact = std::make_shared<const Artifact>(std::move(*found));
  memory_.put(wanted.digest, std::move(dependencies), std::move(witness), toolchain, artifact);
  const Origin origin = artifact->origin;
  return ServedArtifact{std::move(artifact), origin};
}

std::optional<ServedArtifact> Layers::fetch(const Wanted& wanted, const Accept& accept,
                                            WhyNot& why_not) {
  return fetch_from_remotes(wanted, accept, why_not, false);
}

std::optional<ServedArtifact> Layers::fetch_anew(const Wanted& wanted, const Accept& accept,
                                                 WhyNot& why_not) {
  return fetch_from_remotes(wanted, accept, why_not, true);
}

std::optional<ServedArtifact> Layers::fetch_from_remotes(const Wanted& wanted, const Accept& accept,
                                                         WhyNot& why_not, bool anew) {
  const auto accept_offered = [&](const Candidate& candidate) {
    return accept(candidate.dependencies, candidate.toolchain, nullptr, candidate.signed_texts);
  };
  for (const auto& remote : remotes_) {
    MissReason reason = MissReason::none;
    auto found = remote->find(wanted.request, wanted.asking_time, anew, accept_offered, reason);
    why_not.note(reason);
    if (!found) continue;
    remote->admit(wanted.digest);
    auto artifact = std::make_shared<const Artifact>(std::move(found->artifact));
    if (cache_) cache_->count_hit(Origin::remote, artifact->compile_us);
    remember(wanted.digest, std::move(found->dependencies), found->toolchain, artifact);
    return ServedArtifact{std::move(artifact), Origin::remote};
  }
  return std::nullopt;
}

// The first that may be written decides: all that are served by one set of stores ask the same.
RemoteLayer* Layers::giver_of_leases() const {
  const auto first = std::ranges::find_if(
      remotes_, [&](const auto& remote) { return writable_ && remote->writable(); });
  return first == remotes_.end() ? nullptr : first->get();
}

RemoteLayer::Leased Layers::lease(const Digest& what, AskingTime& time) {
  auto* const giver = giver_of_leases();
  return giver == nullptr ? RemoteLayer::Leased() : giver->lease(what, time);
}

void Layers::tell_vain_wait(std::chrono::microseconds waited) {
  if (auto* const giver = giver_of_leases()) giver->tell_vain_wait(waited);
}

bool Layers::share(const Digest& key, std::unique_ptr<Lease> lease) {
  bool any = false;
  for (const auto& remote : remotes_) {
    if (!remote->writable()) continue;
    remote->push(key, std::move(lease));
    any = true;
  }
  return any;
}

std::vector<RemoteState> Layers::remotes(bool reach) {
  std::vector<RemoteState> states;
  for (const auto& remote : remotes_) {
    const auto& address = remote->address();
    states.push_back({address.shown(), address.read_only, remote->status(reach)});
  }
  return states;
}

std::optional<ServedArtifact> Layers::peek(const Wanted& wanted, const Accept& accept,
                                           WhyNot& why_not) {
  if (auto artifact = memory_.find(wanted.digest, wanted.roots, accept))
    return ServedArtifact{std::move(artifact), Origin::memory};
  const auto accept_stored = [&](const Candidate& candidate) {
    return accept(candidate.dependencies, candidate.toolchain, candidate.witness,
                  candidate.signed_texts);
  };
  for (const auto& store : stores()) {
    MissReason reason = MissReason::none;
    auto found = store.cache->peek(wanted.request, wanted.roots, accept_stored, &reason);
    if (found)
      return ServedArtifact{std::make_shared<const Artifact>(std::move(*found)), store.origin};
    why_not.note(reason);
  }
  return std::nullopt;
}

std::vector<Layers::Store> Layers::stores() {
  std::vector<Store> all;
  if (cache_) all.push_back({&*cache_, Origin::local});
  for (auto& bundle : bundles_) all.push_back({&bundle, Origin::bundle});
  return all;
}

void Layers::remember(const Digest& request, DependencySet dependencies, const Toolchain& toolchain,
                      std::shared_ptr<const Artifact> artifact) {
  // This process has read the headers, and knows them by their looks.
  memory_.put(request, std::move(dependencies), {}, toolchain, std::move(artifact));
}

void Layers::count_memory_hit(const Artifact& artifact) noexcept {
  if (cache_) cache_->count_hit(Origin::memory, artifact.compile_us);
}

void Layers::count_miss(MissReason reason) noexcept {
  if (cache_) cache_->count_miss(reason);
}

void Layers::note_compile(std::chrono::microseconds took) noexcept {
  for (const auto& remote : remotes_) remote->note_compile(took);
}

std::optional<Turn> Layers::take_turn(const Digest& what, std::chrono::milliseconds patience,
                                      std::stop_token stop) {
  if (!writable_) return std::nullopt;
  return cache_->take_turn(what, patience, std::move(stop));
}

Result<StoredEntry> Layers::stored(const Digest& key) {
  Result<StoredEntry> found = fail(ErrorCode::not_found, "there is no cache");
  if (cache_) found = cache_->entry(key);
  for (auto& bundle : bundles_) {
    if (!found) found = bundle.entry(key);
  }
  return found;
}

Result<std::string> Layers::text(const Digest& digest) {
  Result<std::string> found = fail(ErrorCode::not_found, "there is no cache");
  if (cache_) found = cache_->text(digest);
  for (auto& bundle : bundles_) {
    if (!found) found = bundle.text(digest);
  }
  return found;
}

void Layers::forget(const Digest& key) {
  memory_.forget(key);
  if (cache_) cache_->forget(key);
  for (auto& bundle : bundles_) bundle.forget(key);
  for (const auto& remote : remotes_) remote->forget(key);
}

std::uint64_t Layers::faults() const noexcept {
  std::uint64_t sum = lost_ + (cache_ ? faults_of(*cache_) : 0);
  for (const auto& bundle : bundles_) sum += faults_of(bundle);
  for (const auto& remote : remotes_) sum += remote->faults();
  return sum;
}

}  // namespace kiln
