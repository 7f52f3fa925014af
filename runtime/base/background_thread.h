#pragma once

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace kiln {

/// Starts a thread that takes none of the host's signals: their handlers belong on threads that the host
/// knows. The thread's own faults are not held back. Throws std::system_error where the system gives no
/// more threads.
template <class Work>
[[nodiscard]] std::thread start_background_thread(Work&& work) {
  struct AllSignalsHeld {
    AllSignalsHeld() {
      sigset_t held;
      ::sigfillset(&held);
      for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
        ::sigdelset(&held, fault);
      }
      ::pthread_sigmask(SIG_SETMASK, &held, &before);
    }
    ~AllSignalsHeld() { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); }

    sigset_t before;
  };
  const AllSignalsHeld held;
  return std::thread(std::forward<Work>(work));
}

}  // namespace kiln
