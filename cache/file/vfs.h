#pragma once

#include <array>

#include <sqlite3.h>

namespace kiln::storage {

/// The VFS that SQLite uses where nobody names one. Ask each time, since a program may change it.
inline sqlite3_vfs* default_vfs() noexcept { return sqlite3_vfs_find(nullptr); }

/// A VFS of kiln's, registered with SQLite for as long as this lives. What it does not do itself, the default VFS does.
class RegisteredVfs {
 public:
  /// `own` holds its methods and the size of its files.
  explicit RegisteredVfs(const sqlite3_vfs& own) noexcept;
  /// Open files go on. SQLite must not find this VFS once kiln's library is unloaded.
  ~RegisteredVfs();
  RegisteredVfs(const RegisteredVfs&) = delete;
  RegisteredVfs& operator=(const RegisteredVfs&) = delete;

  /// The name to open a database with; nullptr where SQLite did not take the VFS.
  [[nodiscard]] const char* name() const noexcept { return registered_ ? vfs_.zName : nullptr; }

 private:
  std::array<char, 32> name_ = {};
  sqlite3_vfs vfs_;
  bool registered_ = false;
};

}  // namespace kiln::storage
