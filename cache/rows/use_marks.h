#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "file/sqlite.h"
#include "kiln/cache.h"

namespace kiln::storage {

// What the least recently used entry is, is told by a clock of the cache's own: the bytes ever stored
// in it. An entry's mark holds the clock of its last use, so that its age is what was stored since. No
// time of day is asked, so a wrong one evicts nothing.
//
// Hits write no marks. Their entries are remembered, and marked when this process writes anyway, or at
// its end; then only those whose mark is so old that eviction may come near.
//
// Inside the caller's transaction; false or nothing where SQLite refused something.

/// The age at which the mark of an entry in use is made anew, as a part of the size cap.
inline constexpr std::uint64_t part_of_cap_to_age = 8;

/// Moves the clock on by what was stored, and marks the entry with it.
[[nodiscard]] bool mark_stored(Connection& connection, std::int64_t entry, std::uint64_t bytes);

/// Those among `used` whose mark is older than `age`. Needs no write transaction.
[[nodiscard]] std::set<std::int64_t> aged(Connection& connection,
                                          const std::set<std::int64_t>& used, std::uint64_t age);

/// Marks these entries with the clock as it stands.
[[nodiscard]] bool mark_used(Connection& connection, const std::set<std::int64_t>& used);

/// Adds to the history of all processes.
[[nodiscard]] bool add_to_history(Connection& connection, const CacheCounters& counters);

/// What the history holds.
[[nodiscard]] std::optional<CacheCounters> read_history(Connection& connection);

[[nodiscard]] bool clear_history(Connection& connection);

/// When the history was last added to. Seconds since 1970; 0 for never.
[[nodiscard]] std::int64_t history_time(Connection& connection);

}  // namespace kiln::storage
