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
    static_cast<void>(watched);  // Else it might be left out.
    const int noted = own.load(std::memory_order_relaxed);
    if (noted != 0) return noted;
    note();
    return own;
  }

 private:
  static void note() noexcept { own = ::getpid(); }

  inline static std::atomic<int> own = 0;
  // When the library is loaded, so that what a host does in a child's first moment finds the child's.
  inline static const int watched = ::pthread_atfork(nullptr, nullptr, note);
};

[[nodiscard]] inline int process_id() noexcept { return ProcessId::get(); }

}  // namespace kiln::system
