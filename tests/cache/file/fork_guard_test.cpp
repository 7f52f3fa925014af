// What keeps fork() from a process that is inside SQLite.

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "kiln/cache.h"
#include "support.h"
#include "system/no_fork.h"

namespace kiln {
namespace {

/// SQLite's allocator, which counts how often it is asked on threads that let others fork: they might be
/// in any of its mutexes.
class WatchedAllocator {
 public:
  /// REQUIRES: SQLite is not in use in this process.
  static void install() {
    sqlite3_shutdown();
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real());
    sqlite3_mem_methods watched = real();
    watched.xMalloc = [](int size) { return look(), real().xMalloc(size); };
    watched.xFree = [](void* memory) { look(), real().xFree(memory); };
    watched.xRealloc = [](void* memory, int size) { return look(), real().xRealloc(memory, size); };
    sqlite3_config(SQLITE_CONFIG_MALLOC, &watched);
  }
  static int calls() { return calls_; }
  static int unguarded() { return unguarded_; }

 private:
  static sqlite3_mem_methods& real() {
    static sqlite3_mem_methods methods;
    return methods;
  }
  static void look() {
    ++calls_;
    if (!system::NoFork::is_held()) ++unguarded_;
  }

  static inline std::atomic<int> calls_ = 0;
  static inline std::atomic<int> unguarded_ = 0;
};

void use_all_of(const std::filesystem::path& folder) {
  const auto bundle = folder / "bundle";
  auto cache = Cache::open(folder / "cache").value();
  for (int number = 0; number < 3; ++number) cache.put(test::make_sample(number).entry()).value();
  ASSERT_TRUE(test::find(cache, test::make_sample(1)));
  cache.export_bundle(bundle, {}).value();
  auto exported = Cache::open_bundle(bundle).value();
  auto other = Cache::open(folder / "other").value();
  other.import(exported).value();
  EXPECT_TRUE(other.verify(true).value().findings.empty());
  other.clear().value();
}

TEST(NoFork, IsHeldWheneverSqliteIsAsked) {
  const test::TemporaryFolder folder;
  const auto result = test::run_processes(1, [&](int) {
    WatchedAllocator::install();
    use_all_of(folder.path());
    if (::testing::Test::HasFailure() || WatchedAllocator::calls() == 0) return 2;
    return WatchedAllocator::unguarded() == 0 ? 0 : 1;
  });
  EXPECT_EQ(result.front(), 0);
}

std::mutex hosts;
std::atomic<bool> host_guards = false;
std::atomic<bool> host_calls = false;

void hold_a_no_fork() {
  if (host_calls) const system::NoFork no_fork;
}

// A host's handlers of fork() that were there before kiln was.
__attribute__((constructor(101))) void register_early() {
  ::pthread_atfork(hold_a_no_fork, hold_a_no_fork, hold_a_no_fork);
}

/// fork()s while another thread makes one NoFork after the other, under a lock that fork() takes as well.
int fork_beside_a_thread(int times) {
  ::alarm(60);
  std::atomic<bool> over = false;
  std::thread thread([&over] {
    while (!over) {
      const std::lock_guard lock(hosts);
      const system::NoFork no_fork;
    }
  });
  bool all = true;
  for (int done = 0; done < times; ++done) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    int status = 0;
    all &= child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
  }
  over = true;
  thread.join();
  return all ? 0 : 1;
}

TEST(NoFork, IsMadeUnderALockThatTheHostsHandlersTake) {
  const auto result = test::run_processes(1, [](int) {
    ::pthread_atfork(
        [] {
          if (host_guards) hosts.lock();
        },
        [] {
          if (host_guards) hosts.unlock();
        },
        [] {
          if (host_guards) hosts.unlock();
        });
    host_guards = true;
    return fork_beside_a_thread(200);
  });
  EXPECT_EQ(result.front(), 0);
}

TEST(NoFork, IsMadeByHandlersThatWereThereBefore) {
  const auto result = test::run_processes(1, [](int) {
    host_calls = true;
    ::alarm(60);
    const auto begin = std::chrono::steady_clock::now();
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    if (::waitpid(child, nullptr, 0) != child) return 2;
    // None of the three has waited for the fork that it is part of, which would be a second.
    return std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(900) ? 0 : 1;
  });
  EXPECT_EQ(result.front(), 0);
}

}  // namespace
}  // namespace kiln
