#pragma once

#include <sqlite3.h>

namespace kiln::storage {

/// The VFS that SQLite uses where nobody names one. Ask each time, since a program may change it.
inline sqlite3_vfs* default_vfs() noexcept { return sqlite3_vfs_find(nullptr); }

/// Registers a VFS of kiln's with SQLite, for good. `own` holds its methods and the size of its files; what it does not
/// do itself, the default VFS does. Gives the name to open a database with; nullptr where SQLite did not take the VFS.
///
/// Nothing takes it back. While the process exits, other threads may open caches yet. Where kiln's library is unloaded,
/// SQLite still finds its name and nothing else of it, in memory that stays, and nobody asks for that name again.
[[nodiscard]] const char* register_vfs(const sqlite3_vfs& own) noexcept;

}  // namespace kiln::storage
