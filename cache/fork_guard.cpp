#include "fork_guard.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

namespace kiln::storage {
namespace {

constexpr int none = -1;

// No lock guards it, since a child may be forked while another thread would hold that.
struct Slots {
  Slots() noexcept {
    for (auto& slot : descriptors) slot = none;
    ::pthread_atfork(nullptr, nullptr, close_all);
  }
  static void close_all() noexcept;

  std::array<std::atomic<int>, 1024> descriptors;
};

Slots& slots() noexcept {
  static Slots slots;
  return slots;
}

void Slots::close_all() noexcept {
  for (auto& slot : slots().descriptors) {
    const int descriptor = slot.exchange(none);
    if (descriptor != none) ::close(descriptor);
  }
}

// NoFork: a lock that many share and fork() takes alone. It is none of the standard library's, because
// the wait of fork() has to end, and because the child has to be able to set it back.

constexpr std::chrono::seconds longest_wait{1};
constexpr std::chrono::microseconds wait_nap{50};

std::atomic<int> inside = 0;   ///< Threads that have a NoFork.
std::atomic<int> forking = 0;  ///< Threads that are in fork().
thread_local int depth = 0;    ///< This thread's.

int own_part() noexcept { return depth > 0 ? 1 : 0; }

void before_fork() noexcept {
  ++forking;
  const auto deadline = std::chrono::steady_clock::now() + longest_wait;
  while (inside > own_part() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(wait_nap);
  }
}

void after_fork_in_parent() noexcept { --forking; }

std::atomic<int> own_process = 0;

void after_fork_in_child() noexcept {
  own_process = ::getpid();
  inside = own_part();
  forking = 0;
}

void watch_forks() noexcept {
  [[maybe_unused]] static const int watched =
      ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

}  // namespace

int process_id() noexcept {
  const int known = own_process.load(std::memory_order_relaxed);
  if (known != 0) return known;
  watch_forks();
  return own_process = ::getpid();
}

NoFork::NoFork() noexcept {
  watch_forks();
  if (depth++ > 0) return;
  while (++inside, forking > 0) {
    --inside;
    while (forking > 0) std::this_thread::sleep_for(wait_nap);
  }
}

NoFork::~NoFork() {
  if (--depth == 0) --inside;
}

bool NoFork::is_held() noexcept { return depth > 0; }

void close_in_children(int descriptor) noexcept {
  for (auto& slot : slots().descriptors) {
    int expected = none;
    if (slot.compare_exchange_strong(expected, descriptor)) return;
  }
}

void forget_in_children(int descriptor) noexcept {
  for (auto& slot : slots().descriptors) {
    int expected = descriptor;
    if (slot.compare_exchange_strong(expected, none)) return;
  }
}

}  // namespace kiln::storage
