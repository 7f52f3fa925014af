#pragma once

#include <chrono>
#include <filesystem>

#include "file/lock_descriptor.h"
#include "file/private_path.h"
#include "kiln/error.h"

namespace kiln::storage {

/// Holds a lock file exclusively, against other processes and against other threads of this one. The
/// kernel releases the lock when its holder dies; a child that the holder forked meanwhile does not keep it.
class FileLock {
 public:
  /// Waits at most `patience`; zero only tries. Makes the file where there is none.
  /// Errors: cache_unusable when the file cannot be opened or is not the user's own regular file,
  /// io_failed when somebody else holds the lock all that time.
  [[nodiscard]] static Result<FileLock> acquire(const std::filesystem::path& file,
                                                std::chrono::milliseconds patience,
                                                const Trust& trust = {});

  FileLock(FileLock&&) noexcept = default;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  FileLock(const std::filesystem::path& file, const Trust& trust) : descriptor_(file, trust) {}
  LockDescriptor descriptor_;
};

}  // namespace kiln::storage
