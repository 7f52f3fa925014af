#include <limits>
#include <new>
#include <utility>

#include "cache_impl.h"
#include "cache_write.h"
#include "rows/entry_reader.h"
#include "rows/entry_remover.h"
#include "system/no_fork.h"

namespace kiln {

using storage::MaterialMatch;
using storage::RawEntry;
using storage::Statement;

struct Cache::Impl::Wanted {
  const Request& request;
  const std::string material;
  const Digest digest;
  const Digest& roots;
  const std::function<bool(const Candidate&)>& accept;
  const bool marks_use;
};

namespace {

Counter counter_of(MissReason reason) {
  switch (reason) {
    case MissReason::unfit:
      return Counter::misses_unfit;
    case MissReason::damaged:
      return Counter::misses_damaged;
    case MissReason::unreadable:
      return Counter::misses_unreadable;
    default:
      return Counter::misses_absent;
  }
}

}  // namespace

std::optional<Artifact> Cache::Impl::find(const Request& request, const Digest& roots,
                                          const std::function<bool(const Candidate&)>& accept,
                                          MissReason* why_not) {
  std::string material = request.material();
  const Digest digest = digest_of(material);
  const Wanted wanted{request, std::move(material), digest, roots, accept, !read_only()};
  std::vector<std::int64_t> damaged;
  const bool open = ensure_open();
  MissReason reason = open ? MissReason::absent : MissReason::unreadable;
  auto artifact = open ? try_search(wanted, reason, damaged) : std::nullopt;
  if (!artifact && (leave_corrupt_file() || look_again())) {
    damaged.clear();
    artifact = try_search(wanted, reason = MissReason::absent, damaged);
  }
  if (!damaged.empty()) drop(damaged);
  if (why_not != nullptr) *why_not = artifact ? MissReason::none : reason;
  if (artifact) {
    count_hit(artifact->origin, artifact->compile_us);
  } else {
    tally_.add(counter_of(reason));
  }
  return artifact;
}

std::optional<Artifact> Cache::Impl::peek(const Request& request, const Digest& roots,
                                          const std::function<bool(const Candidate&)>& accept,
                                          MissReason* why_not) {
  std::string material = request.material();
  const Digest digest = digest_of(material);
  const Wanted wanted{request, std::move(material), digest, roots, accept, false};
  std::vector<std::int64_t> damaged;
  const bool open = ensure_open();
  MissReason reason = open ? MissReason::absent : MissReason::unreadable;
  auto artifact = open ? try_search(wanted, reason, damaged) : std::nullopt;
  if (!artifact && look_again())
    artifact = try_search(wanted, reason = MissReason::absent, damaged);
  if (why_not != nullptr) *why_not = artifact ? MissReason::none : reason;
  return artifact;
}

/// The newest row of the request that is older than `before`; nothing where there is none.
std::optional<RawEntry> Cache::Impl::next_row(const Wanted& wanted, std::int64_t before,
                                              MissReason& reason) {
  Hold hold(*this);
  if (!hold) return std::nullopt;
  Statement row(hold.connection(), "SELECT " KILN_ENTRY_COLUMNS
                                   " FROM entries WHERE request = ? AND id < ? "
                                   "ORDER BY id DESC LIMIT 1");
  const int code = row.bind_blob(1, wanted.digest.view()).bind_integer(2, before).step();
  if (code == SQLITE_DONE) return std::nullopt;
  auto entry =
      code == SQLITE_ROW ? storage::read_row(hold.connection(), row, &wanted.roots) : std::nullopt;
  if (!entry) {
    reason = MissReason::unreadable;
    static_cast<void>(failure(hold, "looking for an entry"));
  }
  return entry;
}

/// A row that takes more memory than there is, is a miss like any other.
std::optional<Artifact> Cache::Impl::try_search(const Wanted& wanted, MissReason& reason,
                                                std::vector<std::int64_t>& damaged) {
  try {
    return search(wanted, reason, damaged);
  } catch (const std::bad_alloc&) {
    reason = MissReason::unreadable;
    return std::nullopt;
  }
}

std::optional<Artifact> Cache::Impl::search(const Wanted& wanted, MissReason& reason,
                                            std::vector<std::int64_t>& damaged) {
  std::int64_t before = std::numeric_limits<std::int64_t>::max();
  while (const auto row = next_row(wanted, before, reason)) {
    // A table of another making might give one row for ever.
    if (row->id >= before) {
      reason = MissReason::damaged;
      break;
    }
    before = row->id;
    const auto found_damaged = [&] {
      reason = MissReason::damaged;
      damaged.push_back(row->id);
    };
    const auto match = storage::match_material(row->material, wanted.material, wanted.digest);
    if (match == MaterialMatch::damaged) found_damaged();
    if (match != MaterialMatch::same) continue;
    auto identity = storage::identify(*row, wanted.digest);
    if (!identity) {
      found_damaged();
      continue;
    }
    const auto witness = storage::witness_of(*row, *identity, wanted.roots);
    const bool accepted = !is_forgotten(identity->key) &&
                          wanted.accept({identity->key, identity->toolchain, identity->dependencies,
                                         witness ? &*witness : nullptr});
    if (!accepted) {
      if (reason == MissReason::absent) reason = MissReason::unfit;
      continue;
    }
    if (auto artifact = storage::artifact_of(*row, *identity, wanted.request)) {
      artifact->origin = own_origin();
      if (wanted.marks_use) Hold(*this).session().used.insert(row->id);
      return artifact;
    }
    found_damaged();
  }
  return std::nullopt;
}

/// Best effort: a row that stays is found damaged again, and dropped then.
void Cache::Impl::drop(const std::vector<std::int64_t>& damaged) {
  tally_.add(Counter::damaged_rows, damaged.size());
  if (read_only()) return;
  static_cast<void>(
      write("dropping damaged rows", std::chrono::milliseconds::zero(), [&](Hold& hold) {
        for (const std::int64_t id : damaged) {
          if (!storage::remove_entry(hold.connection(), id)) return Step::failed;
        }
        return Step::commit;
      }));
  static_cast<void>(leave_corrupt_file());
}

bool Cache::Impl::is_forgotten(const Digest& key) {
  const system::NoFork no_fork;
  const std::lock_guard guard(forgotten_mutex_);
  return forgotten_.contains(key);
}

void Cache::Impl::forget(const Digest& key) {
  tally_.add(Counter::refused_images);
  {
    const system::NoFork no_fork;
    const std::lock_guard guard(forgotten_mutex_);
    forgotten_.insert(key);
  }
  if (read_only() || !ensure_open()) return;
  // Best effort as well: this object does not serve it again in any case.
  static_cast<void>(write("dropping a refused image", storage::writer_patience, [&](Hold& hold) {
    const auto id = storage::entry_id(hold.connection(), key);
    return commit_if(!id || storage::remove_entry(hold.connection(), *id));
  }));
}

}  // namespace kiln
