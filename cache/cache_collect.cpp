#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "cache_impl.h"
#include "cache_write.h"
#include "file/wall_clock.h"
#include "rows/entry_remover.h"
#include "rows/use_marks.h"

namespace kiln {

using storage::Connection;
using storage::Statement;

namespace {

/// A transaction removes at most so many entries, so that it stays short and its journal small.
constexpr std::size_t entries_in_a_step = 64;
constexpr int pages_in_a_step = 512;

/// Which entries go first, and when it is enough.
class Selection {
 public:
  explicit Selection(const GcOptions& options) : options_(options) {
    if (options.older_than)
      made_before_ = storage::seconds_since_1970() - options.older_than->count();
  }

  struct Victim {
    std::int64_t id = 0;
    std::uint64_t bytes = 0;
  };

  /// The next ones, at most a step's worth; `passed` and the bytes in use count as gone already.
  /// Nothing where SQLite refused something.
  std::optional<std::vector<Victim>> next(Connection& connection, std::uint64_t used) const {
    std::vector<Victim> victims;
    Statement row(connection,
                  "SELECT entries.id, length(payload), created FROM marks "
                  "JOIN entries ON entries.id = marks.entry WHERE pinned = 0 "
                  "AND (created < ?1 OR ?2) ORDER BY used, entries.id");
    row.bind_integer(1, made_before_).bind_integer(2, options_.max_bytes ? 1 : 0);
    int code = row.step();
    for (; code == SQLITE_ROW && victims.size() < most_; code = row.step()) {
      const auto bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(row.integer(1), 0));
      const bool too_old = options_.older_than && row.integer(2) < made_before_;
      const bool too_much = options_.max_bytes && used > *options_.max_bytes;
      if (!too_old && !too_much) {
        if (!options_.older_than) break;
        continue;
      }
      victims.push_back({row.integer(0), bytes});
      used -= std::min(used, bytes);
    }
    if (code != SQLITE_ROW && code != SQLITE_DONE) return std::nullopt;
    return victims;
  }

  /// All of them at once, for those who only want to know.
  void lift_limit() { most_ = std::numeric_limits<std::size_t>::max(); }

 private:
  const GcOptions& options_;
  std::int64_t made_before_ = std::numeric_limits<std::int64_t>::min();
  std::size_t most_ = entries_in_a_step;
};

void add(GcReport& report, const std::vector<Selection::Victim>& victims) {
  report.entries += victims.size();
  for (const auto& victim : victims) report.bytes += victim.bytes;
}

}  // namespace

Result<GcReport> Cache::Impl::collect(const GcOptions& options) {
  if (!ensure_open()) return not_open();
  Selection selection(options);
  GcReport report;
  if (options.dry_run) {
    selection.lift_limit();
    Hold hold(*this);
    if (!hold) return not_open();
    const auto used = storage::used_bytes(hold.connection());
    const auto victims = used ? selection.next(hold.connection(), *used) : std::nullopt;
    if (!victims) return failure(hold, "collecting");
    add(report, *victims);
    return report;
  }
  // First, since an entry without a mark would not be chosen.
  const auto tidied =
      write("putting marks and orphans in order", storage::writer_patience,
            [](Hold& hold) { return commit_if(storage::remove_orphans(hold.connection())); });
  if (!tidied) return tl::unexpected(tidied.error());
  for (bool more = true; more;) {
    std::vector<Selection::Victim> gone;
    const auto written = write("collecting", storage::writer_patience, [&](Hold& hold) {
      Connection& connection = hold.connection();
      const auto used = storage::used_bytes(connection);
      auto victims = used ? selection.next(connection, *used) : std::nullopt;
      if (!victims) return Step::failed;
      gone = std::move(*victims);
      if (gone.empty()) return Step::roll_back;
      for (const auto& victim : gone) {
        if (!storage::remove_entry(connection, victim.id)) return Step::failed;
      }
      CacheCounters news;
      news.values[static_cast<std::size_t>(Counter::evictions)] = gone.size();
      return commit_if(storage::add_to_history(connection, news));
    });
    if (!written) return tl::unexpected(written.error());
    add(report, gone);
    more = !gone.empty();
  }
  const auto given_back = give_back();
  if (!given_back) return tl::unexpected(given_back.error());
  return report;
}

Result<GcReport> Cache::Impl::clear() {
  if (!ensure_open()) return not_open();
  GcReport report;
  for (bool more = true; more;) {
    std::uint64_t bytes = 0;
    std::vector<std::int64_t> gone;
    const auto written = write("clearing", storage::writer_patience, [&](Hold& hold) {
      {
        Statement row(hold.connection(), "SELECT id, length(payload) FROM entries LIMIT ?");
        row.bind_integer(1, static_cast<std::int64_t>(entries_in_a_step));
        int code = row.step();
        for (; code == SQLITE_ROW; code = row.step()) {
          gone.push_back(row.integer(0));
          bytes += static_cast<std::uint64_t>(std::max<std::int64_t>(row.integer(1), 0));
        }
        if (code != SQLITE_DONE) return Step::failed;
      }
      for (const std::int64_t id : gone) {
        if (!storage::remove_entry(hold.connection(), id)) return Step::failed;
      }
      // What no entry led to any more, such as after damage, goes with the last of them.
      return commit_if(!gone.empty() || storage::remove_orphans(hold.connection()));
    });
    if (!written) return tl::unexpected(written.error());
    report.entries += gone.size();
    report.bytes += bytes;
    more = !gone.empty();
  }
  const auto given_back = give_back();
  if (!given_back) return tl::unexpected(given_back.error());
  return report;
}

/// Gives all free pages back to the filesystem, in small transactions.
Result<void> Cache::Impl::give_back() {
  for (bool more = true; more;) {
    auto written = write("giving room back", storage::writer_patience, [&](Hold& hold) {
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

Result<void> Cache::Impl::reset_history() {
  if (!ensure_open()) return not_open();
  return write("resetting the history", storage::writer_patience,
               [&](Hold& hold) { return commit_if(storage::clear_history(hold.connection())); });
}

Result<void> Cache::Impl::pin(const Digest& key, bool pinned) {
  if (!ensure_open()) return not_open();
  bool found = false;
  auto written = write("pinning an entry", storage::writer_patience, [&](Hold& hold) {
    const auto id = storage::entry_id(hold.connection(), key);
    found = id.has_value();
    if (!id) return Step::roll_back;
    Statement row(hold.connection(), "UPDATE marks SET pinned = ? WHERE entry = ?");
    return commit_if(row.bind_integer(1, pinned ? 1 : 0).bind_integer(2, *id).run());
  });
  if (written && !found) {
    return fail(ErrorCode::not_found, fmt::format("no entry has the key {}", key.hex()));
  }
  return written;
}

}  // namespace kiln
