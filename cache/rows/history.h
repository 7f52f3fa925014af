#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "file/sqlite.h"
#include "kiln/cache.h"

namespace kiln::storage {

// What all processes counted and told the database: in sum, and for each of the last days. Days are counted from
// 1970-01-01, in UTC.
//
/// So many days are told apart; what is older is only in the sum.
inline constexpr std::int64_t days_kept = 366;

/// Today; 1 at least, whatever the clock says.
[[nodiscard]] std::int64_t this_day();

/// Adds to the day, in its place among the others.
void add_to_day(std::vector<DayCounters>& days, std::int64_t day, const CacheCounters& counters);

// These run inside the caller's transaction. They give false or nothing where SQLite refused something.

[[nodiscard]] bool add_to_history(Connection& connection, const CacheCounters& counters);

/// The sum.
[[nodiscard]] std::optional<CacheCounters> read_history(Connection& connection);

/// The earliest day first; days on which nothing was told are left out.
[[nodiscard]] std::optional<std::vector<DayCounters>> read_days(Connection& connection);

[[nodiscard]] bool clear_history(Connection& connection);

/// When the history was last added to. Seconds since 1970; 0 for never.
[[nodiscard]] std::int64_t history_time(Connection& connection);

}  // namespace kiln::storage
