#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cache_impl.h"
#include "file/wall_clock.h"
#include "kiln/caller_state.h"
#include "rows/entry_remover.h"
#include "rows/history.h"
#include "rows/removal_forecast.h"

namespace kiln {

using storage::Connection;
using storage::Statement;

namespace {

/// A transaction removes at most so many entries: it stays short, and its journal small.
constexpr std::size_t entries_in_a_step = 64;
constexpr int pages_in_a_step = 512;

struct Victim {
  std::int64_t id = 0;
  std::uint64_t bytes = 0;
  bool too_old = false;
};
using Victims = std::vector<Victim>;

/// Decides which entries go first, and when that is enough.
class Selection {
 public:
  explicit Selection(const GcOptions& options) : options_(options) {
    if (options.older_than)
      made_before_ = storage::seconds_since_1970() - options.older_than->count();
  }

  /// So many of those that may go: the too old ones, whose room others need not make then, and those not used for longest.
  /// Nothing where SQLite refused something.
  std::optional<Victims> candidates(Connection& connection, std::size_t most) const {
    const auto too_much = is_too_much(connection);
    if (!too_much) return std::nullopt;
    Victims victims;
    // By use alone there is an index, which ends with the last that is asked for.
    constexpr std::string_view by_use =
        "SELECT entries.id, length(payload), 0 FROM marks JOIN entries ON entries.id = marks.entry "
        "WHERE pinned = 0 AND (?2 OR created < ?1) ORDER BY used, entries.id";
    constexpr std::string_view too_old_first =
        "SELECT entries.id, length(payload), created < ?1 FROM entries "
        "LEFT JOIN marks ON entries.id = marks.entry WHERE ifnull(pinned, 0) = 0 "
        "AND (created < ?1 OR ?2) ORDER BY created < ?1 DESC, ifnull(used, 0), entries.id";
    Statement row(connection, options_.older_than ? too_old_first : by_use, made_before_,
                  *too_much);
    auto there = row.next();
    for (; there == true && victims.size() < most; there = row.next())
      victims.push_back({row.integer(0), row.count(1), row.integer(2) != 0});
    return there ? std::optional(std::move(victims)) : std::nullopt;
  }

  /// Whether this candidate goes, now that those before it are gone.
  std::optional<bool> goes(Connection& connection, const Victim& victim) const {
    return victim.too_old ? std::optional(true) : is_too_much(connection);
  }

  [[nodiscard]] bool is_too_much(std::uint64_t used) const {
    return options_.max_bytes && used > *options_.max_bytes;
  }

 private:
  std::optional<bool> is_too_much(Connection& connection) const {
    const auto used = storage::used_bytes(connection);
    return used ? std::optional(is_too_much(*used)) : std::nullopt;
  }

  const GcOptions& options_;
  std::int64_t made_before_ = std::numeric_limits<std::int64_t>::min();
};

void add(GcReport& report, const Victim& victim) {
  ++report.entries;
  report.bytes += victim.bytes;
}

/// What would go. Nothing where SQLite refused something.
std::optional<GcReport> forecast(Connection& connection, const Selection& selection) {
  const auto candidates = selection.candidates(connection, std::numeric_limits<std::size_t>::max());
  auto used = storage::used_bytes(connection);
  auto forecast = storage::RemovalForecast::read(connection);
  if (!candidates || !used || !forecast) return std::nullopt;
  GcReport report;
  for (const Victim& victim : *candidates) {
    if (!victim.too_old && !selection.is_too_much(*used)) continue;
    const auto freed = forecast->remove(victim.id);
    if (!freed) return std::nullopt;
    *used -= std::min(*used, *freed);
    add(report, victim);
  }
  return report;
}

/// Gives all free pages back to the filesystem, in small transactions. A file whose header says that it cannot be shrunk, as damage
/// may, keeps them.
Outcome give_back(Cache::Impl& cache) {
  auto before = std::numeric_limits<std::int64_t>::max();
  for (bool more = true; more;) {
    std::optional<std::int64_t> unused;
    auto written = cache.write_to_free_room("giving room back", [&](Hold& hold) {
      unused = hold.connection().integer("PRAGMA freelist_count");
      if (!unused) return Step::failed;
      more = *unused > 0 && *unused < before;
      return more ? commit_if(storage::shrink(hold.connection(), pages_in_a_step))
                  : Step::roll_back;
    });
    if (!written) return written;
    before = unused.value_or(0);
  }
  return {};
}

/// Removes those of what `choose(Connection&)` gives that `goes(Connection&, victim)`, a step's worth in each transaction, until
/// that is no entry any more. Then gives the room back. Both give nullopt where SQLite refused something.
/// `end(Connection&, victims)` comes last in each transaction. A transaction may be begun again: none of them may take what it did
/// for done.
template <class Choose, class Goes, class End>
Result<GcReport> remove_in_steps(Cache::Impl& cache, std::string_view doing, const Choose& choose,
                                 const Goes& goes, const End& end) {
  GcReport report;
  for (bool more = true; more;) {
    Victims gone;
    const auto written = cache.write_to_free_room(doing, [&](Hold& hold) {
      Connection& connection = hold.connection();
      gone.clear();
      const auto victims = choose(connection);
      if (!victims) return Step::failed;
      for (const Victim& victim : *victims) {
        const std::optional<bool> is_to_go = goes(connection, victim);
        if (!is_to_go) return Step::failed;
        if (!*is_to_go) continue;
        if (!storage::remove_entry(connection, victim.id)) return Step::failed;
        gone.push_back(victim);
      }
      return end(connection, gone);
    });
    if (!written) return tl::unexpected(written.error());
    for (const Victim& victim : gone) add(report, victim);
    more = !gone.empty();
  }
  const auto given_back = give_back(cache);
  if (!given_back) return tl::unexpected(given_back.error());
  return report;
}

std::optional<bool> each_goes(Connection&, const Victim&) { return true; }

}  // namespace

Result<GcReport> Cache::collect(const GcOptions& options) {
  const CallerState caller;
  const Selection selection(options);
  if (options.dry_run) {
    Hold hold = impl_->open();
    auto report = hold ? forecast(hold.connection(), selection) : std::nullopt;
    if (!report) return hold.failure("collecting");
    return *report;
  }
  // First, since an entry without a mark is no candidate, and what belongs to none takes no room then.
  const auto tidied = impl_->write_to_free_room(
      "putting marks and orphans in order",
      [](Hold& hold) { return commit_if(storage::remove_orphans(hold.connection())); });
  if (!tidied) return tl::unexpected(tidied.error());
  const auto choose = [&](Connection& connection) {
    return selection.candidates(connection, entries_in_a_step);
  };
  const auto goes = [&](Connection& connection, const Victim& victim) {
    return selection.goes(connection, victim);
  };
  const auto count = [](Connection& connection, const Victims& gone) {
    if (gone.empty()) return Step::roll_back;
    CacheCounters news;
    news.values[static_cast<std::size_t>(Counter::evictions)] = gone.size();
    return commit_if(storage::add_to_history(connection, news));
  };
  return remove_in_steps(*impl_, "collecting", choose, goes, count);
}

Result<GcReport> Cache::clear() {
  const CallerState caller;
  const auto any = [](Connection& connection) {
    Victims victims;
    Statement row(connection, "SELECT id, length(payload) FROM entries LIMIT ?", entries_in_a_step);
    const bool read = row.for_each([&] { victims.push_back({row.integer(0), row.count(1)}); });
    return read ? std::optional(std::move(victims)) : std::nullopt;
  };
  const auto tidy = [](Connection& connection, const Victims& gone) {
    // After the last entry goes what belongs to none, as damage may leave behind.
    return commit_if(!gone.empty() || storage::remove_orphans(connection));
  };
  const auto remove_all = [&] { return remove_in_steps(*impl_, "clearing", any, each_goes, tidy); };
  auto removed = remove_all();
  // In a file that is corrupt nothing can be removed; of the one that takes its place nothing needs to be.
  if (!removed && impl_->leave_corrupt_file()) removed = remove_all();
  return removed;
}

Result<GcReport> Cache::remove(std::span<const Digest> keys) {
  const CallerState caller;
  const auto next = [&](Connection& connection) -> std::optional<Victims> {
    Victims victims;
    std::size_t not_there = 0;  // At the beginning, as those are that the steps before removed.
    for (const Digest& key : keys) {
      if (victims.size() == entries_in_a_step) break;
      Statement row(connection, "SELECT id, length(payload) FROM entries WHERE key = ?", key);
      if (!row.for_each([&] { victims.push_back({row.integer(0), row.count(1)}); }))
        return std::nullopt;
      if (victims.empty()) ++not_there;
    }
    keys = keys.subspan(not_there);
    return victims;
  };
  return remove_in_steps(*impl_, "removing", next, each_goes, [](Connection&, const Victims& gone) {
    return gone.empty() ? Step::roll_back : Step::commit;
  });
}

Outcome Cache::pin(const Digest& key, bool pinned) {
  const CallerState caller;
  bool found = false;
  const auto* doing = pinned ? "pinning an entry" : "unpinning an entry";
  auto written = impl_->write(doing, storage::writer_patience, [&](Hold& hold) {
    const auto id = storage::entry_id(hold.connection(), key);
    found = id.has_value();
    if (!id) return Step::roll_back;
    return commit_if(
        hold.connection().run("UPDATE marks SET pinned = ? WHERE entry = ?", pinned, *id));
  });
  if (written && !found) return no_entry(key);
  return written;
}

}  // namespace kiln
