#pragma once

#include <pthread.h>
#include <unistd.h>

#include <atomic>

namespace kiln::system {

/// getpid() without the call of the system, because every hit asks. In a child made by other means than fork() this is
/// the parent's id; such a child may not use what its parent opened. Safe from any thread.
class ProcessId {
 public:
  [[nodiscard]] static int get() noexcept {
    const int known = known_.load(std::memory_order_relaxed);
    if (known != 0) return known;
    [[maybe_unused]] static const int watched = ::pthread_atfork(nullptr, nullptr, note);
    note();
    return known_;
  }

 private:
  static void note() noexcept { known_ = ::getpid(); }

  inline static std::atomic<int> known_ = 0;
};

[[nodiscard]] inline int process_id() noexcept { return ProcessId::get(); }

}  // namespace kiln::system
