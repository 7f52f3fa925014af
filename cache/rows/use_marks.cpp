#include "rows/use_marks.h"

#include <algorithm>
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
  return connection.integer("SELECT value FROM state WHERE name = ?", name).value_or(0);
}

bool set_state(Connection& connection, std::string_view name, std::int64_t value) {
  return connection.run("INSERT OR REPLACE INTO state(name, value) VALUES(?, ?)", name, value);
}

}  // namespace

bool mark_stored(Connection& connection, std::int64_t entry, std::uint64_t bytes) {
  const std::int64_t clock = state(connection, clock_name) + static_cast<std::int64_t>(bytes);
  return set_state(connection, clock_name, clock) &&
         connection.run(
             "INSERT INTO marks(entry, used, pinned) VALUES(?1, ?2, 0) "
             "ON CONFLICT(entry) DO UPDATE SET used = ?2",
             entry, clock);
}

std::set<std::int64_t> aged(Connection& connection, const std::set<std::int64_t>& used,
                            std::uint64_t age) {
  const std::int64_t before = state(connection, clock_name) - static_cast<std::int64_t>(age);
  std::set<std::int64_t> found;
  for (const std::int64_t entry : used) {
    const auto old =
        connection.has_row("SELECT 1 FROM marks WHERE entry = ? AND used < ?", entry, before);
    if (old == true) found.insert(entry);
  }
  return found;
}

bool mark_used(Connection& connection, const std::set<std::int64_t>& used) {
  const std::int64_t clock = state(connection, clock_name);
  return std::all_of(used.begin(), used.end(), [&](std::int64_t entry) {
    return connection.run("UPDATE marks SET used = ? WHERE entry = ?", clock, entry);
  });
}

bool add_to_history(Connection& connection, const CacheCounters& counters) {
  for (std::size_t at = 0; at < counter_count; ++at) {
    if (counters.values[at] == 0) continue;
    const auto name = std::string(counter_prefix) + to_string(static_cast<Counter>(at));
    const bool added = connection.run(
        "INSERT INTO state(name, value) VALUES(?1, ?2) "
        "ON CONFLICT(name) DO UPDATE SET value = value + ?2",
        name, counters.values[at]);
    if (!added) return false;
  }
  return set_state(connection, time_name, seconds_since_1970());
}

std::optional<CacheCounters> read_history(Connection& connection) {
  CacheCounters counters;
  Statement row(connection, "SELECT name, value FROM state");
  const bool read = row.for_each([&] {
    auto name = row.text(0);
    if (!name.starts_with(counter_prefix)) return;
    name.remove_prefix(counter_prefix.size());
    const std::size_t at = counter_of_name(name);
    if (at < counter_count) counters.values[at] = static_cast<std::uint64_t>(row.integer(1));
  });
  return read ? std::optional(counters) : std::nullopt;
}

bool clear_history(Connection& connection) {
  return connection.run("DELETE FROM state WHERE name LIKE 'counter.%'");
}

std::int64_t history_time(Connection& connection) { return state(connection, time_name); }

}  // namespace kiln::storage
