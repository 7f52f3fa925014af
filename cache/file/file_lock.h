#pragma once

#include <chrono>
#include <filesystem>

#include "file/private_path.h"
#include "kiln/error.h"

namespace kiln::storage {

/// Holds a lock file exclusively: against other processes and against other threads of this one. The
/// kernel releases it when the holder dies; a child that it forked meanwhile does not keep it.
class FileLock {
 public:
  /// Waits at most `patience`; zero only tries. The file is made, 0600, where there is none.
  /// Errors: cache_unusable when it cannot be opened or is not the user's own regular file,
  /// io_failed when somebody else holds it all that time.
  [[nodiscard]] static Result<FileLock> acquire(const std::filesystem::path& file,
                                                std::chrono::milliseconds patience,
                                                Trust trust = {});

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) noexcept;
  int descriptor_;
  int process_;  ///< A forked child's copy of this object holds nothing.
};

}  // namespace kiln::storage
