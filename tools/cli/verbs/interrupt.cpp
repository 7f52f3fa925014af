#include "verbs/interrupt.h"

#include <pthread.h>
#include <unistd.h>

namespace kiln::cli {

namespace {

// Wakes the waiter when it is no longer needed; nobody else sends it to one thread.
constexpr int wake_up = SIGURG;

bool is_ignored(int signal) {
  struct sigaction now {};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

Interrupt::Interrupt() {
  sigemptyset(&signals_);
  sigaddset(&signals_, wake_up);
  // One that is ignored, as SIGINT is for what a script starts in the background, stays so.
  for (const int signal : {SIGINT, SIGTERM}) {
    if (!is_ignored(signal)) sigaddset(&signals_, signal);
  }
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  waiter_ = std::thread([this] { wait(); });
}

Interrupt::~Interrupt() {
  over_ = true;
  pthread_kill(waiter_.native_handle(), wake_up);
  waiter_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void Interrupt::wait() {
  for (int signal = 0; sigwait(&signals_, &signal) == 0 && !over_;) {
    if (signal == wake_up) continue;
    if (stop_.stop_requested()) _exit(128 + signal);
    signal_ = signal;
    stop_.request_stop();
  }
}

}  // namespace kiln::cli
