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
};
using Victims = std::vector<Victim>;

/// Decides which entries go first, and when that is enough.
class Selection {
 public:
  explicit Selection(const GcOptions& options) : options_(options) {
    if (options.older_than)
      made_before_ = storage::seconds_since_1970() - options.older_than->count();
  }

  /// The next entries to go, at most a step's worth; `used` bytes are in use before they go.
  /// Nothing where SQLite refused something.
  std::optional<Victims> next(Connection& connection, std::uint64_t used) const {
    Victims victims;
    Statement row(connection,
                  "SELECT entries.id, length(payload), created FROM marks "
                  "JOIN entries ON entries.id = marks.entry WHERE pinned = 0 "
                  "AND (created < ?1 OR ?2) ORDER BY used, entries.id",
                  made_before_, options_.max_bytes.has_value());
    auto there = row.next();
    for (; there == true && victims.size() < most_; there = row.next()) {
      const std::uint64_t bytes = row.count(1);
      const bool too_old = options_.older_than && row.integer(2) < made_before_;
      const bool too_much = options_.max_bytes && used > *options_.max_bytes;
      if (!too_old && !too_much) {
        if (!options_.older_than) break;
        continue;
      }
      victims.push_back({row.integer(0), bytes});
      used -= std::min(used, bytes);
    }
    return there ? std::optional(std::move(victims)) : std::nullopt;
  }

  /// From now on next() gives all entries at once, for a dry run.
  void lift_limit() { most_ = std::numeric_limits<std::size_t>::max(); }

 private:
  const GcOptions& options_;
  std::int64_t made_before_ = std::numeric_limits<std::int64_t>::min();
  std::size_t most_ = entries_in_a_step;
};

void add(GcReport& report, const Victims& victims) {
  report.entries += victims.size();
  for (const Victim& victim : victims) report.bytes += victim.bytes;
}

/// Gives all free pages back to the filesystem, in small transactions.
Outcome give_back(Cache::Impl& cache) {
  for (bool more = true; more;) {
    auto written = cache.write("giving room back", storage::writer_patience, [&](Hold& hold) {
      const auto unused = hold.connection().integer("PRAGMA freelist_count");
      if (!unused) return Step::failed;
      more = *unused > 0;
      return more ? commit_if(storage::shrink(hold.connection(), pages_in_a_step))
                  : Step::roll_back;
    });
    if (!written) return written;
  }
  return {};
}

/// Removes what `choose(Connection&)` gives, a step's worth in each transaction, until that is no entry any more. Then
/// gives the room back. `choose` gives nullopt where SQLite refused something. `end(Connection&, victims)` comes last
/// in each transaction.
template <class Choose, class End>
Result<GcReport> remove_in_steps(Cache::Impl& cache, std::string_view doing, const Choose& choose,
                                 const End& end) {
  GcReport report;
  for (bool more = true; more;) {
    Victims gone;
    const auto written = cache.write(doing, storage::writer_patience, [&](Hold& hold) {
      Connection& connection = hold.connection();
      auto victims = choose(connection);
      if (!victims) return Step::failed;
      gone = std::move(*victims);
      for (const Victim& victim : gone) {
        if (!storage::remove_entry(connection, victim.id)) return Step::failed;
      }
      return end(connection, gone);
    });
    if (!written) return tl::unexpected(written.error());
    add(report, gone);
    more = !gone.empty();
  }
  const auto given_back = give_back(cache);
  if (!given_back) return tl::unexpected(given_back.error());
  return report;
}

}  // namespace

Result<GcReport> Cache::collect(const GcOptions& options) {
  const CallerState caller;
  Selection selection(options);
  const auto choose = [&](Connection& connection) {
    const auto used = storage::used_bytes(connection);
    return used ? selection.next(connection, *used) : std::nullopt;
  };
  if (options.dry_run) {
    selection.lift_limit();
    Hold hold = impl_->open();
    const auto victims = hold ? choose(hold.connection()) : std::nullopt;
    if (!victims) return hold.failure("collecting");
    GcReport report;
    add(report, *victims);
    return report;
  }
  // First, since next() does not choose an entry without a mark.
  const auto tidied = impl_->write(
      "putting marks and orphans in order", storage::writer_patience,
      [](Hold& hold) { return commit_if(storage::remove_orphans(hold.connection())); });
  if (!tidied) return tl::unexpected(tidied.error());
  return remove_in_steps(*impl_, "collecting", choose,
                         [](Connection& connection, const Victims& gone) {
                           if (gone.empty()) return Step::roll_back;
                           CacheCounters news;
                           news.values[static_cast<std::size_t>(Counter::evictions)] = gone.size();
                           return commit_if(storage::add_to_history(connection, news));
                         });
}

Result<GcReport> Cache::clear() {
  const CallerState caller;
  const auto any = [](Connection& connection) {
    Victims victims;
    Statement row(connection, "SELECT id, length(payload) FROM entries LIMIT ?", entries_in_a_step);
    const bool read = row.for_each([&] { victims.push_back({row.integer(0), row.count(1)}); });
    return read ? std::optional(std::move(victims)) : std::nullopt;
  };
  return remove_in_steps(*impl_, "clearing", any, [](Connection& connection, const Victims& gone) {
    // After the last entry goes what belongs to none, as damage may leave behind.
    return commit_if(!gone.empty() || storage::remove_orphans(connection));
  });
}

Result<GcReport> Cache::remove(std::span<const Digest> keys) {
  const CallerState caller;
  const auto next = [&](Connection& connection) -> std::optional<Victims> {
    Victims victims;
    while (!keys.empty() && victims.size() < entries_in_a_step) {
      Statement row(connection, "SELECT id, length(payload) FROM entries WHERE key = ?",
                    keys.front());
      if (!row.for_each([&] { victims.push_back({row.integer(0), row.count(1)}); }))
        return std::nullopt;
      keys = keys.subspan(1);
    }
    return victims;
  };
  return remove_in_steps(*impl_, "removing", next, [](Connection&, const Victims& gone) {
    return gone.empty() ? Step::roll_back : Step::commit;
  });
}

Outcome Cache::pin(const Digest& key, bool pinned) {
  const CallerState caller;
  bool found = false;
  auto written = impl_->write("pinning an entry", storage::writer_patience, [&](Hold& hold) {
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
