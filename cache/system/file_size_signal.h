#pragma once

#include <pthread.h>

#include <cerrno>
#include <csignal>
#include <ctime>

namespace kiln::system {

/// While one exists, a write of this thread beyond RLIMIT_FSIZE fails with EFBIG, like any write that finds no room,
/// and SIGXFSZ does not end the process. The host's handling of that signal stays as it is. Keeps errno. For one
/// thread, in the order of a stack.
class FileSizeSignalHeld {
 public:
  FileSizeSignalHeld() noexcept {
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    // A signal that was pending before is the host's.
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &signal(), &before_);
  }
  FileSizeSignalHeld(const FileSizeSignalHeld&) = delete;
  FileSizeSignalHeld& operator=(const FileSizeSignalHeld&) = delete;
  ~FileSizeSignalHeld() {
    const int error = errno;
    constexpr timespec at_once{};
    if (!was_pending_) sigtimedwait(&signal(), nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }

 private:
  static const sigset_t& signal() noexcept {
    static const sigset_t only = [] {
      sigset_t set;
      sigemptyset(&set);
      sigaddset(&set, SIGXFSZ);
      return set;
    }();
    return only;
  }

  bool was_pending_ = false;
  sigset_t before_;
};

}  // namespace kiln::system
