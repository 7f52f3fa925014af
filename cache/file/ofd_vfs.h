#pragma once

namespace kiln::storage {

/// The name of a VFS that is the default one but for its locks, and registered with SQLite at the first
/// call; nullptr where SQLite does not take it, which stands for the default one.
///
/// It takes the byte ranges that SQLite's own VFS takes, so that both respect each other, but as locks of
/// an open file instead of a process. A process may hold two copies of SQLite (two plugins that each bring
/// one), and those see nothing of each other's process locks: each would commit into the other's reads.
///
/// It opens no database and no journal that is not a regular file of one name; SQLite waits for ever for
/// somebody to write into a FIFO in the place of a journal.
[[nodiscard]] const char* ofd_vfs() noexcept;

}  // namespace kiln::storage
