#pragma once

#include <cstdint>
#include <optional>

#include "file/sqlite.h"
#include "kiln/digest.h"

namespace kiln::storage {

// Inside the caller's write transaction. What cannot be done is told by false or nothing; the
// connection then knows why.

/// Removes an entry, its mark, and the dependency set and texts that no other entry needs. True also
/// where there is no such entry.
[[nodiscard]] bool remove_entry(Connection& connection, std::int64_t id);

/// Removes what hangs together with no entry: texts, sets, links, witnesses and marks.
[[nodiscard]] bool remove_orphans(Connection& connection);

/// Gives a mark, the oldest there can be, to each entry that has none.
[[nodiscard]] bool mark_unmarked(Connection& connection);

/// The entry of this key; nothing where there is none.
[[nodiscard]] std::optional<std::int64_t> entry_id(Connection& connection, const Digest& key);

/// What the database's pages in use come to. Bytes.
[[nodiscard]] std::optional<std::uint64_t> used_bytes(Connection& connection);

/// The entry that was used longest ago among those not pinned, apart from `but`; nothing where there
/// is none.
[[nodiscard]] std::optional<std::int64_t> least_recently_used(Connection& connection,
                                                              std::int64_t but);

/// Gives up to `pages` free pages back to the filesystem.
[[nodiscard]] bool shrink(Connection& connection, int pages);

}  // namespace kiln::storage
