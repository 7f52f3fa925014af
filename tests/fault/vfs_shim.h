#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <sqlite3.h>

namespace kiln::test {

/// What SQLite asks of a file system.
enum class Call {
  open,
  remove,
  access,
  full_path,
  read,
  write,
  truncate,
  sync,
  file_size,
  lock,
  unlock,
  check_lock,
};

[[nodiscard]] const char* to_string(Call call) noexcept;

/// One such call. What a kind of call has no use for is empty.
struct Operation {
  Call call;
  const char* path = nullptr;   ///< Null for a temporary file without a name.
  std::string_view bytes = {};  ///< Of a write.
  sqlite3_int64 offset = 0;     ///< Of a write, or the new size of a truncation.
  int flags = 0;                ///< Of an open, or whether a removal syncs the directory.
};

/// An SQLite VFS over the default one, and itself the default while it lives: each connection opened
/// meanwhile goes through it, and must be closed before its end. For one thread.
class VfsShim {
 public:
  VfsShim();
  VfsShim(const VfsShim&) = delete;
  VfsShim& operator=(const VfsShim&) = delete;
  virtual ~VfsShim();

  /// Told of each call before it is made; a code other than SQLITE_OK is given instead of making it.
  /// An unlock is made in any case, since no failure keeps a lock that its file no longer has.
  [[nodiscard]] virtual int intercept(const Operation& operation) = 0;

  [[nodiscard]] sqlite3_vfs* real() const noexcept { return real_; }

 private:
  sqlite3_vfs* real_;
  std::unique_ptr<sqlite3_vfs> vfs_;
};

}  // namespace kiln::test
