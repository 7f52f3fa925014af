#pragma once

#include <cstdint>
#include <optional>

#include "file/sqlite.h"
#include "kiln/digest.h"

namespace kiln::storage {

// These run inside the caller's write transaction. They give false or nothing where SQLite refused something; the
// connection then knows why.

/// Removes an entry, its mark, and the dependency set and texts that no other entry needs. Gives true also
/// where there is no such entry.
[[nodiscard]] bool remove_entry(Connection& connection, std::int64_t id);

/// Removes the texts, sets, links, witnesses and marks that belong to no entry.
[[nodiscard]] bool remove_orphans(Connection& connection);

/// Gives each entry that has no mark the oldest that there can be.
[[nodiscard]] bool mark_unmarked(Connection& connection);

/// The entry of this key; nothing where there is none.
[[nodiscard]] std::optional<std::int64_t> entry_id(Connection& connection, const Digest& key);

/// The size of the pages in use, in bytes.
[[nodiscard]] std::optional<std::uint64_t> used_bytes(Connection& connection);

/// Of the entries that are not pinned, the one that was used longest ago, but never `but`; nothing where there
/// is none.
[[nodiscard]] std::optional<std::int64_t> least_recently_used(Connection& connection,
                                                              std::int64_t but);

/// Gives up to `pages` free pages back to the filesystem.
[[nodiscard]] bool shrink(Connection& connection, int pages);

}  // namespace kiln::storage
