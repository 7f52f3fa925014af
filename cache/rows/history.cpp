#include "rows/history.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "file/wall_clock.h"
#include "rows/state.h"
#include "rows/tally.h"

namespace kiln::storage {
namespace {

constexpr std::string_view time_name = "history_time";
constexpr std::string_view sum_prefix = "counter.";
constexpr std::string_view day_prefix = "day.";  // and the day's number, a dot and the counter

bool add_under(Connection& connection, const std::string& prefix, const CacheCounters& counters) {
  for (std::size_t at = 0; at < counter_count; ++at) {
    if (counters.values[at] == 0) continue;
    const auto name = prefix + to_string(static_cast<Counter>(at));
    const bool added = connection.run(
        "INSERT INTO state(name, value) VALUES(?1, ?2) "
        "ON CONFLICT(name) DO UPDATE SET value = value + ?2",
        name, counters.values[at]);
    if (!added) return false;
  }
  return true;
}

bool forget_days_before(Connection& connection, std::int64_t day) {
  return connection.run(
      "DELETE FROM state WHERE name LIKE 'day.%' AND CAST(substr(name, 5) AS INTEGER) < ?", day);
}

void set(CacheCounters& counters, std::string_view name, std::int64_t value) {
  const std::size_t at = counter_of_name(name);
  if (at < counter_count) counters.values[at] = static_cast<std::uint64_t>(value);
}

}  // namespace

std::int64_t this_day() {
  constexpr std::int64_t seconds_of_a_day = 86'400;
  return std::max<std::int64_t>(seconds_since_1970() / seconds_of_a_day, 1);
}

void add_to_day(std::vector<DayCounters>& days, std::int64_t day, const CacheCounters& counters) {
  const auto at = std::ranges::lower_bound(days, day, {}, &DayCounters::day);
  if (at != days.end() && at->day == day) {
    add(at->counters, counters);
  } else {
    days.insert(at, {day, counters});
  }
}

bool add_to_history(Connection& connection, const CacheCounters& counters) {
  const auto day = this_day();
  return add_under(connection, std::string(sum_prefix), counters) &&
         add_under(connection, fmt::format("{}{}.", day_prefix, day), counters) &&
         forget_days_before(connection, day - days_kept) &&
         set_state(connection, time_name, seconds_since_1970());
}

std::optional<CacheCounters> read_history(Connection& connection) {
  CacheCounters counters;
  Statement row(connection, "SELECT name, value FROM state");
  const bool read = row.for_each([&] {
    auto name = row.text(0);
    if (!name.starts_with(sum_prefix)) return;
    name.remove_prefix(sum_prefix.size());
    set(counters, name, row.integer(1));
  });
  return read ? std::optional(counters) : std::nullopt;
}

std::optional<std::vector<DayCounters>> read_days(Connection& connection) {
  std::map<std::int64_t, CacheCounters> by_day;
  Statement row(connection, "SELECT name, value FROM state");
  const bool read = row.for_each([&] {
    auto name = row.text(0);
    if (!name.starts_with(day_prefix)) return;
    name.remove_prefix(day_prefix.size());
    const auto dot = name.find('.');
    std::int64_t day = 0;
    if (dot == std::string_view::npos ||
        std::from_chars(name.data(), name.data() + dot, day).ptr != name.data() + dot) {
      return;
    }
    set(by_day[day], name.substr(dot + 1), row.integer(1));
  });
  if (!read) return std::nullopt;
  std::vector<DayCounters> days;
  days.reserve(by_day.size());
  for (const auto& [day, counters] : by_day) days.push_back({day, counters});
  return days;
}

bool clear_history(Connection& connection) {
  return connection.run("DELETE FROM state WHERE name LIKE 'counter.%' OR name LIKE 'day.%'");
}

std::int64_t history_time(Connection& connection) { return state(connection, time_name); }

}  // namespace kiln::storage
