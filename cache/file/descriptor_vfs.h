#pragma once

namespace kiln::storage {

/// The name of a VFS that reads a database from a descriptor that the caller has opened. It gets no path, so SQLite
/// reads the very file that the caller checked. The first call registers it with SQLite; nullptr where SQLite does not
/// take it.
///
/// A database's name is "/" and the descriptor's number. The descriptor stays the caller's, who may close it once the
/// database is open. Nobody may change the file while it is open: there are no locks and no journals.
[[nodiscard]] const char* descriptor_vfs() noexcept;

}  // namespace kiln::storage
