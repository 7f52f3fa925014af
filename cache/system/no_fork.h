#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace kiln::system {

/// While one exists, fork() waits in other threads, but for a second at most. Making one waits for a fork() that is
/// under way in another thread, as long at most: handlers of a host's may take what the thread that makes one holds.
///
/// Whatever uses SQLite has one: SQLite keeps what locks a process has on a file, and its own mutexes,
/// in memory that a child inherits. A child forked in the middle of a transaction would hold locks that
/// nobody gave it, or read without any, or wait for a mutex whose holder it does not have. And whatever loads a
/// library: a child would find it there, and not ready to be called.
/// A thread may have several; it may fork itself while it has one. Safe from any thread.
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
  // A lock that many share and fork() takes alone. It is none of the standard library's, because the wait of fork()
  // has to end, and because the child has to be able to set it back.
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

  // When it is loaded, before a host comes to have handlers of its own: those before a fork run in reverse, so that a
  // host's locks are taken before the wait for what it does under them.
  inline static const int watched =
      ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
};

}  // namespace kiln::system
