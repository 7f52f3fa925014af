#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace kiln::system {

/// Where a host has closed one of its standard streams, the next file that anybody opens gets its number, and the host
/// goes on printing there: one printf would overwrite the database. So every descriptor that kiln writes through, locks
/// or keeps is above the standard streams. A file that kiln reads in one go and closes may have such a number.
///
/// Gives the descriptor, or another of the same open file above the standard streams; -1 with errno where
/// `descriptor` is -1 or there are no more.
[[nodiscard]] inline int above_standard_streams(int descriptor) noexcept {
  if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
  const int above = ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return above;
}

/// open() above the standard streams, never inherited by a program that is executed.
[[nodiscard]] inline int open_file(const char* path, int flags, mode_t mode = 0) noexcept {
  return above_standard_streams(::open(path, flags | O_CLOEXEC, mode));
}

}  // namespace kiln::system
