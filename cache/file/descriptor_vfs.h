#pragma once

namespace kiln::storage {

/// The name of a VFS that reads a database from a descriptor that is open already, and is never given a path to
/// one: what was looked at is what is read. Registered with SQLite at the first call; nullptr where SQLite does not
/// take it.
///
/// A database's name is "/" and the descriptor's number; the descriptor stays the caller's, and need not outlive
/// the opening. Nobody may change the file while it is open: there are no locks and no journals.
[[nodiscard]] const char* descriptor_vfs() noexcept;

}  // namespace kiln::storage
