#include "interrupt.h"

#include <pthread.h>
#include <unistd.h>

namespace kiln::cli {

Interrupt::Interrupt() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  waiter_ = std::thread([this] { wait(); });
}

Interrupt::~Interrupt() {
  over_ = true;
  pthread_kill(waiter_.native_handle(), SIGTERM);
  waiter_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void Interrupt::wait() {
  for (int signal = 0; sigwait(&signals_, &signal) == 0 && !over_;) {
    if (stop_.stop_requested()) _exit(128 + signal);
    signal_ = signal;
    stop_.request_stop();
  }
}

}  // namespace kiln::cli
