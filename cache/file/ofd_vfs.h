#pragma once

namespace kiln::storage {

/// A file control of this VFS: fills in the `struct stat` of the file that is open, whatever its name stands for by now. SQLITE_NOTFOUND
/// where it holds no descriptor of it.
inline constexpr int status_of_open_file = 0x6b696c6e;

/// The name of a VFS that differs from the default one in its locks. The first call registers it with SQLite; nullptr,
/// which stands for the default VFS, where SQLite does not take it.
///
/// It locks the bytes that SQLite's own VFS locks, so that both respect each other, but its locks belong to the open
/// file and not to the process. A process may hold two copies of SQLite (two plugins that each bring one), and neither
/// sees the other's process locks: each would commit into the other's reads.
///
/// It opens a database or a journal only where that is a regular file of one name. SQLite itself would wait for ever
/// at a FIFO in the place of a journal, until somebody writes into it.
[[nodiscard]] const char* ofd_vfs() noexcept;

}  // namespace kiln::storage
