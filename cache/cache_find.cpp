#include <algorithm>
#include <functional>
#include <limits>
#include <new>
#include <set>
#include <utility>

#include "cache_impl.h"
#include "cache_pick_up.h"
#include "kiln/caller_state.h"
#include "rows/entry_reader.h"
#include "rows/entry_remover.h"
#include "rows/proof.h"
#include "rows/signature_list.h"
#include "rows/signed_row.h"

namespace kiln {

using storage::MaterialMatch;
using storage::Proof;
using storage::RawEntry;
using storage::Statement;

namespace {

/// A stranger may have written any number of rows for a request; so many that are not as they were signed are looked at.
constexpr int most_unproven = 64;

struct Wanted {
  const Request& request;
  const std::string material;
  const Digest digest;
  const Digest& roots;
  const std::function<bool(const Candidate&)>& accept;
  const bool marks_use;
};

Counter counter_of(MissReason reason) {
  switch (reason) {
    case MissReason::unfit:
      return Counter::misses_unfit;
    case MissReason::untrusted:
      return Counter::misses_untrusted;
    case MissReason::damaged:
      return Counter::misses_damaged;
    case MissReason::unreadable:
      return Counter::misses_unreadable;
    default:
      return Counter::misses_absent;
  }
}

/// What the proof says of the texts that an entry of this cache was made of.
class TextsOfProof final : public SignedTexts {
 public:
  TextsOfProof(Cache::Impl& cache, const Proof& proof, const DependencySet& dependencies)
      : cache_(cache), proof_(proof), dependencies_(dependencies) {}

  [[nodiscard]] bool is_source(const std::string& hash) const override {
    return proof_.covers_source(hash);
  }
  [[nodiscard]] bool are_headers(const std::vector<std::string>& hashes) const override {
    CacheTexts stored({&cache_});
    return proof_.covers_headers(dependencies_, hashes, stored.hashes());
  }

 private:
  Cache::Impl& cache_;
  const Proof& proof_;
  const DependencySet& dependencies_;
};

constexpr const char* looking_for_one = "looking for an entry";
using NextRow = Result<std::optional<RawEntry>>;

NextRow next_of_own(Hold& hold, const Wanted& wanted, std::int64_t before,
                    const TrustedKeys& keys) {
  Statement row(hold.connection(),
                "SELECT " KILN_ENTRY_COLUMNS
                " FROM entries WHERE request = ? AND id < ? ORDER BY id DESC LIMIT 1",
                wanted.digest, before);
  const auto there = row.next();
  if (there == false) return std::nullopt;
  auto entry = there ? storage::read_row(hold.connection(), row, &wanted.roots) : std::nullopt;
  if (!entry) return hold.failure(looking_for_one);
  if (!entry->key || keys.empty()) return entry;
  auto signatures = storage::read_signatures(hold.connection(), *entry->key, keys);
  if (!signatures) return hold.failure(looking_for_one);
  entry->signatures = std::move(*signatures);
  return entry;
}

/// Nothing of what a stranger wrote is read before somebody vouches for it.
NextRow next_of_strangers(Hold& hold, const Wanted& wanted, std::int64_t before,
                          const TrustedKeys& keys) {
  Statement row(hold.connection(),
                "SELECT id, key FROM entries WHERE request = ? AND id < ? ORDER BY id DESC LIMIT 1",
                wanted.digest, before);
  const auto there = row.next();
  if (!there) return hold.failure(looking_for_one);
  if (!*there) return std::nullopt;
  const auto id = row.integer(0);
  const auto key = row.digest(1);
  if (!key) {
    hold.found_unproven();
    return RawEntry{.id = id, .key = {}, .toolchain = {}};
  }
  auto entry = storage::read_signed_row(hold.connection(), id, *key, keys);
  if (!entry) return hold.failure(looking_for_one);
  if (entry->signatures.empty()) hold.found_unproven();
  return entry;
}

/// The newest row of the request that is older than `before`; nothing where there is none.
std::optional<RawEntry> next_row(Cache::Impl& cache, const Wanted& wanted, std::int64_t before,
                                 MissReason& reason) {
  Hold hold(cache);
  if (!hold) return std::nullopt;
  const auto& keys = cache.options.trusted_keys;
  auto row = cache.asks_for_proof() ? next_of_strangers(hold, wanted, before, keys)
                                    : next_of_own(hold, wanted, before, keys);
  if (row) return std::move(*row);
  reason = MissReason::unreadable;
  return std::nullopt;
}

std::optional<Artifact> search(Cache::Impl& cache, const Wanted& wanted, MissReason& reason,
                               std::vector<std::int64_t>& damaged) {
  int unproven_left = most_unproven;
  std::set<Digest> proven;
  std::int64_t before = std::numeric_limits<std::int64_t>::max();
  while (unproven_left > 0) {
    auto row = next_row(cache, wanted, before, reason);
    if (!row) break;
    const bool wants_proof = cache.asks_for_proof();
    // A table that kiln did not make might give one row for ever.
    if (row->id >= before) {
      reason = MissReason::damaged;
      break;
    }
    before = row->id;
    const auto found_damaged = [&] {
      reason = MissReason::damaged;
      damaged.push_back(row->id);
      if (wants_proof) --unproven_left;
    };
    const auto found_untrusted = [&] {
      reason = std::max(reason, MissReason::untrusted);
      --unproven_left;
      cache.tell_untrusted(wanted.request.program);
    };
    // Nothing of what a stranger wrote is decoded before somebody vouches for it, and what was signed counts once: he may have
    // copied it to any number of rows.
    const auto proof = Proof::of(*row, cache.options.trusted_keys);
    if (wants_proof && (!proof || !proven.insert(*row->key).second)) {
      found_untrusted();
      continue;
    }
    const auto match = storage::match_material(row->material, wanted.material, wanted.digest);
    if (match == MaterialMatch::damaged) found_damaged();
    if (match == MaterialMatch::another && wants_proof) --unproven_left;
    if (match != MaterialMatch::same) continue;
    storage::ProvenOnly proven_only(wants_proof ? &*proof : nullptr);
    const auto found_unsound = [&] { proven_only.refused() ? found_untrusted() : found_damaged(); };
    auto identity = storage::identify(*row, wanted.digest, std::ref(proven_only));
    if (!identity) {
      found_unsound();
      continue;
    }
    // Nobody signs what files looked like: a stranger's witness would say that they have not changed.
    const auto witness =
        wants_proof ? std::nullopt : storage::witness_of(*row, *identity, wanted.roots);
    std::optional<TextsOfProof> signed_texts;
    if (proof) signed_texts.emplace(cache, *proof, identity->dependencies);
    const bool accepted =
        !cache.is_forgotten(identity->key) &&
        wanted.accept({identity->key, identity->toolchain, identity->dependencies,
                       witness ? &*witness : nullptr, signed_texts ? &*signed_texts : nullptr});
    if (!accepted) {
      if (reason == MissReason::absent) reason = MissReason::unfit;
      continue;
    }
    if (auto artifact =
            storage::artifact_of(*row, *identity, wanted.request, std::ref(proven_only))) {
      artifact->origin = cache.own_origin();
      if (wanted.marks_use) Hold(cache).session().used.insert(row->id);
      return artifact;
    }
    found_unsound();
  }
  return std::nullopt;
}

/// Where a row takes more memory than there is, the search ends in a miss like any other.
std::optional<Artifact> try_search(Cache::Impl& cache, const Wanted& wanted, MissReason& reason,
                                   std::vector<std::int64_t>& damaged) {
  try {
    return search(cache, wanted, reason, damaged);
  } catch (const std::bad_alloc&) {
    reason = MissReason::unreadable;
    return std::nullopt;
  }
}

/// Drops damaged rows where nobody else is writing. The next look-up finds one that stays damaged again.
void drop(Cache::Impl& cache, const std::vector<std::int64_t>& damaged) {
  cache.tally.add(Counter::damaged_rows, damaged.size());
  if (cache.read_only()) return;
  static_cast<void>(
      cache.write("dropping damaged rows", std::chrono::milliseconds::zero(), [&](Hold& hold) {
        return commit_if(std::all_of(damaged.begin(), damaged.end(), [&](std::int64_t id) {
          return storage::remove_entry(hold.connection(), id);
        }));
      }));
  static_cast<void>(cache.leave_corrupt_file());
}

}  // namespace

std::optional<Artifact> Cache::find(const Request& request, const Digest& roots,
                                    const std::function<bool(const Candidate&)>& accept,
                                    MissReason* why_not) {
  const CallerState caller;
  std::string material = request.material();
  const Digest digest = digest_of(material);
  const Wanted wanted{request, std::move(material), digest, roots, accept, !impl_->read_only()};
  std::vector<std::int64_t> damaged;
  const bool open = impl_->ensure_open();
  MissReason reason = open ? MissReason::absent : MissReason::unreadable;
  auto artifact = open ? try_search(*impl_, wanted, reason, damaged) : std::nullopt;
  if (!artifact && (impl_->leave_corrupt_file() || impl_->look_again())) {
    damaged.clear();
    artifact = try_search(*impl_, wanted, reason = MissReason::absent, damaged);
  }
  if (!damaged.empty()) drop(*impl_, damaged);
  if (why_not != nullptr) *why_not = artifact ? MissReason::none : reason;
  if (artifact) {
    count_hit(artifact->origin, artifact->compile_us);
  } else if (why_not == nullptr) {
    count_miss(reason);
  }
  return artifact;
}

std::optional<Artifact> Cache::peek(const Request& request, const Digest& roots,
                                    const std::function<bool(const Candidate&)>& accept,
                                    MissReason* why_not) {
  const CallerState caller;
  std::string material = request.material();
  const Digest digest = digest_of(material);
  const Wanted wanted{request, std::move(material), digest, roots, accept, false};
  std::vector<std::int64_t> damaged;
  const bool open = impl_->ensure_open();
  MissReason reason = open ? MissReason::absent : MissReason::unreadable;
  auto artifact = open ? try_search(*impl_, wanted, reason, damaged) : std::nullopt;
  if (!artifact && impl_->look_again())
    artifact = try_search(*impl_, wanted, reason = MissReason::absent, damaged);
  if (why_not != nullptr) *why_not = artifact ? MissReason::none : reason;
  return artifact;
}

void Cache::count_hit(Origin origin, std::uint64_t compile_us) noexcept {
  // No checksum protects the column; a damaged time must not spoil the sum.
  constexpr std::uint64_t a_day = 86'400'000'000;
  const Counter counter = origin == Origin::memory   ? Counter::hits_memory
                          : origin == Origin::local  ? Counter::hits_local
                          : origin == Origin::remote ? Counter::hits_remote
                                                     : Counter::hits_bundle;
  impl_->tally.add(counter);
  if (compile_us <= a_day) impl_->tally.add(Counter::saved_us, compile_us);
}

void Cache::count_miss(MissReason reason) noexcept {
  if (reason != MissReason::none) impl_->tally.add(counter_of(reason));
}

void Cache::forget(const Digest& key) {
  const CallerState caller;
  impl_->tally.add(Counter::refused_images);
  impl_->set_forgotten(key, true);
  if (impl_->read_only()) return;
  // Best effort: this object does not serve the entry again in any case.
  static_cast<void>(
      impl_->write("dropping a refused image", storage::writer_patience, [&](Hold& hold) {
        const auto id = storage::entry_id(hold.connection(), key);
        return commit_if(!id || storage::remove_entry(hold.connection(), *id));
      }));
}

}  // namespace kiln
