#pragma once

#include <cstdint>
#include <set>

#include "file/sqlite.h"

namespace kiln::storage {

// The cache has a clock of its own: the number of bytes that were ever stored in it. An entry's mark holds the clock of
// its last use, so an entry is as old as the bytes that were stored since. The least recently used entry has the lowest
// mark. Nobody asks for the time of day, so a wrong one evicts nothing.
//
// A hit writes no mark. The process remembers the entry, and marks it when it writes anyway, or at its end. It marks
// only entries whose mark is so old that eviction may come near.
//
// These run inside the caller's transaction. They give false or nothing where SQLite refused something.

/// The age at which an entry in use gets a new mark. Bytes.
[[nodiscard]] inline constexpr std::uint64_t age_to_mark(std::uint64_t size_cap) noexcept {
  return size_cap / 8;
}

/// Moves the clock on by what was stored, and marks the entry with it.
[[nodiscard]] bool mark_stored(Connection& connection, std::int64_t entry, std::uint64_t bytes);

/// Those among `used` whose mark is older than `age`. Needs no write transaction.
[[nodiscard]] std::set<std::int64_t> aged(Connection& connection,
                                          const std::set<std::int64_t>& used, std::uint64_t age);

/// Marks these entries with the clock as it stands.
[[nodiscard]] bool mark_used(Connection& connection, const std::set<std::int64_t>& used);

}  // namespace kiln::storage
