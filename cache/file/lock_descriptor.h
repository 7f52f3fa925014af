#pragma once

#include <fcntl.h>

#include <filesystem>

#include "file/private_path.h"

namespace kiln::storage {

/// Owns the descriptor of a lock file. Every child that this process forks closes it, so that a lock ends with its
/// holder; a child's copy of this object owns nothing.
class LockDescriptor {
 public:
  LockDescriptor() = default;
  /// Opens the file, and makes it where there is none. Where that fails, errno tells why, and this owns nothing. It follows no
  /// symlink and never waits, whatever has taken the file's place since the caller checked it.
  LockDescriptor(const std::filesystem::path& file, const Trust& trust);
  LockDescriptor(LockDescriptor&& other) noexcept;
  LockDescriptor& operator=(LockDescriptor&& other) noexcept;
  ~LockDescriptor();

  [[nodiscard]] int get() const noexcept { return descriptor_; }
  /// Whether there is a descriptor and this process opened it. In a child the number may stand for another file.
  [[nodiscard]] bool is_own() const noexcept;

 private:
  int descriptor_ = -1;
  int process_ = 0;
};

/// A range of bytes, for a lock that belongs to an open file (F_OFD_SETLK).
[[nodiscard]] inline struct flock byte_range(short type, off_t first, off_t size) noexcept {
  struct flock bytes = {};
  bytes.l_type = type;
  bytes.l_whence = SEEK_SET;
  bytes.l_start = first;
  bytes.l_len = size;
  return bytes;
}

}  // namespace kiln::storage
