#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace kiln::system {

/// While one exists, fork() waits in other threads, for a second at most. The constructor waits for a fork() that is
/// under way in another thread, a second at most as well: a host's fork handlers may wait for what this thread holds.
///
/// Code that calls SQLite has one. SQLite keeps a process's locks on a file, and its own mutexes, in memory that a
/// child inherits. A child forked in the middle of a transaction would hold locks that nobody gave it, or read without
/// any, or wait for a mutex whose holder it does not have. Code that loads a library has one too: a child would find
/// the library loaded but not ready to be called.
/// A thread may have several, and may itself fork while it has one. Safe from any thread.
class NoFork {
 public:
  NoFork() noexcept {
    static_cast<void>(watched);  // Else it might be left out.
    if (depth++ > 0) return;
    if (++inside; forking == 0 || is_forking) return;
    --inside;
    wait_while([] { return forking > 0; });
    ++inside;
  }
  NoFork(const NoFork&) = delete;
  NoFork& operator=(const NoFork&) = delete;
  ~NoFork() {
    if (--depth == 0) --inside;
  }

  /// Whether this thread has one.
  [[nodiscard]] static bool is_held() noexcept { return depth > 0; }

 private:
  // A lock that many threads share and fork() takes alone. The standard library has no such lock: fork()'s wait has to
  // end, and the child has to be able to set the lock back.
  static constexpr std::chrono::seconds longest_wait{1};
  static constexpr std::chrono::microseconds nap{50};
  inline static std::atomic<int> inside = 0;           ///< Threads that have one.
  inline static std::atomic<int> forking = 0;          ///< Threads that are in fork().
  inline static thread_local int depth = 0;            ///< This thread's.
  inline static thread_local bool is_forking = false;  ///< Whether it is in handlers of a fork().

  static int own_part() noexcept { return depth > 0 ? 1 : 0; }

  template <class Condition>
  static void wait_while(Condition condition) noexcept {
    const auto deadline = std::chrono::steady_clock::now() + longest_wait;
    while (condition() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(nap);
    }
  }

  static void before_fork() noexcept {
    is_forking = true;
    ++forking;
    wait_while([] { return inside > own_part(); });
  }

  static void after_fork_in_parent() noexcept {
    --forking;
    is_forking = false;
  }

  static void after_fork_in_child() noexcept {
    inside = own_part();
    forking = 0;
    is_forking = false;
  }

  // The library registers its handlers when it is loaded, before a host registers its own. Handlers before a fork run
  // in reverse order: the host's take their locks first, and then NoFork waits for what threads do under those locks.
  inline static const int watched =
      ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
};

}  // namespace kiln::system
