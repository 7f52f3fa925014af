#include "file/fork_guard.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>

namespace kiln::storage {
namespace {

constexpr int none = -1;

// No lock guards the slots: a child may be forked while another thread holds that lock.
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

}  // namespace

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
