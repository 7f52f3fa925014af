#include "rows/use_marks.h"

#include <string>
#include <string_view>

#include "file/wall_clock.h"
#include "rows/tally.h"

namespace kiln::storage {
namespace {

constexpr std::string_view clock_name = "clock";
constexpr std::string_view time_name = "history_time";
constexpr std::string_view counter_prefix = "counter.";

/// 0 where there is none.
std::int64_t state(Connection& connection, std::string_view name) {
  Statement row(connection, "SELECT value FROM state WHERE name = ?");
  return row.bind_text(1, name).step() == SQLITE_ROW ? row.integer(0) : 0;
}

bool set_state(Connection& connection, std::string_view name, std::int64_t value) {
  Statement row(connection, "INSERT OR REPLACE INTO state(name, value) VALUES(?, ?)");
  return row.bind_text(1, name).bind_integer(2, value).run();
}

}  // namespace

bool mark_stored(Connection& connection, std::int64_t entry, std::uint64_t bytes) {
  const std::int64_t clock = state(connection, clock_name) + static_cast<std::int64_t>(bytes);
  if (!set_state(connection, clock_name, clock)) return false;
  Statement row(connection,
                "INSERT INTO marks(entry, used, pinned) VALUES(?1, ?2, 0) "
                "ON CONFLICT(entry) DO UPDATE SET used = ?2");
  return row.bind_integer(1, entry).bind_integer(2, clock).run();
}

std::set<std::int64_t> aged(Connection& connection, const std::set<std::int64_t>& used,
                            std::uint64_t age) {
  const std::int64_t before = state(connection, clock_name) - static_cast<std::int64_t>(age);
  std::set<std::int64_t> found;
  for (const std::int64_t entry : used) {
    Statement row(connection, "SELECT 1 FROM marks WHERE entry = ? AND used < ?");
    if (row.bind_integer(1, entry).bind_integer(2, before).step() == SQLITE_ROW) {
      found.insert(entry);
    }
  }
  return found;
}

bool mark_used(Connection& connection, const std::set<std::int64_t>& used) {
  const std::int64_t clock = state(connection, clock_name);
  for (const std::int64_t entry : used) {
    Statement row(connection, "UPDATE marks SET used = ? WHERE entry = ?");
    if (!row.bind_integer(1, clock).bind_integer(2, entry).run()) return false;
  }
  return true;
}

bool add_to_history(Connection& connection, const CacheCounters& counters) {
  for (std::size_t at = 0; at < counter_count; ++at) {
    if (counters.values[at] == 0) continue;
    const auto name = std::string(counter_prefix) + to_string(static_cast<Counter>(at));
    Statement row(connection,
                  "INSERT INTO state(name, value) VALUES(?1, ?2) "
                  "ON CONFLICT(name) DO UPDATE SET value = value + ?2");
    row.bind_text(1, name).bind_integer(2, static_cast<std::int64_t>(counters.values[at]));
    if (!row.run()) return false;
  }
  return set_state(connection, time_name, seconds_since_1970());
}

std::optional<CacheCounters> read_history(Connection& connection) {
  CacheCounters counters;
  Statement row(connection, "SELECT name, value FROM state");
  int code = row.step();
  for (; code == SQLITE_ROW; code = row.step()) {
    auto name = row.text(0);
    if (!name.starts_with(counter_prefix)) continue;
    name.remove_prefix(counter_prefix.size());
    const std::size_t at = counter_of_name(name);
    if (at < counter_count) counters.values[at] = static_cast<std::uint64_t>(row.integer(1));
  }
  if (code != SQLITE_DONE) return std::nullopt;
  return counters;
}

bool clear_history(Connection& connection) {
  Statement row(connection, "DELETE FROM state WHERE name LIKE 'counter.%'");
  return row.run();
}

std::int64_t history_time(Connection& connection) { return state(connection, time_name); }

}  // namespace kiln::storage
