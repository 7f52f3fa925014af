#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace kiln::system {

/// While one exists, fork() waits in other threads, but for a second at most.
///
/// Whatever uses SQLite has one: SQLite keeps what locks a process has on a file, and its own mutexes,
/// in memory that a child inherits. A child forked in the middle of a transaction would hold locks that
/// nobody gave it, or read without any, or wait for a mutex whose holder it does not have. And whatever loads a
/// library: a child would find it there, and not ready to be called.
/// A thread may have several; it may fork itself while it has one. Safe from any thread.
class NoFork {
 public:
  NoFork() noexcept {
    watch_forks();
    if (depth++ > 0) return;
    while (++inside, forking > 0) {
      --inside;
      while (forking > 0) std::this_thread::sleep_for(nap);
    }
  }
  NoFork(const NoFork&) = delete;
  NoFork& operator=(const NoFork&) = delete;
  ~NoFork() {
    if (--depth == 0) --inside;
  }

  /// Whether this thread has one.
  [[nodiscard]] static bool is_held() noexcept { return depth > 0; }

 private:
  // A lock that many share and fork() takes alone. It is none of the standard library's, because the wait of fork()
  // has to end, and because the child has to be able to set it back.
  static constexpr std::chrono::seconds longest_wait{1};
  static constexpr std::chrono::microseconds nap{50};
  inline static std::atomic<int> inside = 0;   ///< Threads that have one.
  inline static std::atomic<int> forking = 0;  ///< Threads that are in fork().
  inline static thread_local int depth = 0;    ///< This thread's.

  static int own_part() noexcept { return depth > 0 ? 1 : 0; }

  static void before_fork() noexcept {
    ++forking;
    const auto deadline = std::chrono::steady_clock::now() + longest_wait;
    while (inside > own_part() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(nap);
    }
  }

  static void after_fork_in_parent() noexcept { --forking; }

  static void after_fork_in_child() noexcept {
    inside = own_part();
    forking = 0;
  }

  static void watch_forks() noexcept {
    [[maybe_unused]] static const int watched =
        ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  }
};

}  // namespace kiln::system
