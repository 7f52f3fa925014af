#include "memory_limit.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>

#include "compile/worker/worker_protocol.h"

#if defined(__has_feature)
#define KILN_HAS_FEATURE(name) __has_feature(name)
#else
#define KILN_HAS_FEATURE(name) 0
#endif

namespace kiln {

namespace {

// A sanitizer's own tables take more address space than any limit leaves.
constexpr bool is_sanitized =
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    KILN_HAS_FEATURE(address_sanitizer) || KILN_HAS_FEATURE(thread_sanitizer)
    true;
#else
    false;
#endif

// What a compiler may ask for in one piece.
std::size_t piece = 0;

// A compiler that is refused memory often just crashes. It crashed for want of memory if less is left than it
// may have asked for.
void on_crash(int number) {
  void* some = ::mmap(nullptr, piece, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (some == MAP_FAILED) ::_exit(worker_out_of_memory_status);
  ::signal(number, SIG_DFL);
  ::raise(number);
}

// On a stack of its own: the other one may be what overflowed.
void tell_crashes_apart() {
  static std::array<char, 65'536> stack;
  stack_t alternative{};
  alternative.ss_sp = stack.data();
  alternative.ss_size = stack.size();
  ::sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_handler = on_crash;
  action.sa_flags = static_cast<int>(SA_ONSTACK | SA_RESETHAND);
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGILL}) ::sigaction(number, &action, nullptr);
}

}  // namespace

void limit_memory(std::uint64_t bytes) {
  std::set_new_handler(end_out_of_memory);
  if (is_sanitized) return;
  rlimit before{};
  if (::getrlimit(RLIMIT_AS, &before) == 0) bytes = std::min<std::uint64_t>(bytes, before.rlim_max);
  constexpr std::uint64_t pieces = 8;
  piece = static_cast<std::size_t>(bytes / pieces);
  tell_crashes_apart();
  const rlimit limit{bytes, bytes};
  ::setrlimit(RLIMIT_AS, &limit);
}

void end_out_of_memory() noexcept { ::_exit(worker_out_of_memory_status); }

}  // namespace kiln
