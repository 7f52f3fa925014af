#include "compile/process_end.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <utility>

#include "vendor/library_imports.h"
#include "vendor/shared_library.h"

namespace kiln {

namespace {

bool is_main_thread() noexcept { return ::gettid() == ::getpid(); }

// Called before the handlers that were there at the fork, nvJitLink's among them.
void end_without_handlers_of_parent(int status, void*) {
  std::cout.flush();
  std::clog.flush();
  std::fflush(nullptr);
  ::_exit(status);
}

int register_nothing(void (*)(void*), void*, void*) { return 0; }

// NVRTC's front end sets up handlers that end the process, and leaves the default ones behind. They are the host's: told that
// all are ignored, it leaves them alone.
sighandler_t set_no_handler(int, sighandler_t) { return SIG_IGN; }

// NVRTC and the two tools beside it have their part in how the process ends.
std::size_t leave_process_alone() {
  const std::array replacements{
      vendor::ImportReplacement{"__cxa_atexit", reinterpret_cast<void*>(register_nothing)},
      vendor::ImportReplacement{"signal", reinterpret_cast<void*>(set_no_handler)}};
  std::size_t replaced = 0;
  for (const auto* library : {"nvrtc", "nvJitLink", "nvfatbin"})
    replaced += vendor::replace_imports(library, replacements, {}).replaced;
  return replaced;
}

}  // namespace

// One for each thread. It is made before what NVRTC keeps for the thread, and so destroyed after that.
struct ProcessEnd::Presence {
  Presence() { ++get().threads_; }
  ~Presence() { --get().threads_; }
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;
};

struct ProcessEnd::OfMainThread {
  OfMainThread() = default;
  ~OfMainThread() {
    if (is_main_thread()) get().wait();
  }
  OfMainThread(const OfMainThread&) = delete;
  OfMainThread& operator=(const OfMainThread&) = delete;
};

// To wait for a thread for a limited time it has to be joined by its handle. So the std::thread is never destroyed.
struct ProcessEnd::Adopted {
  explicit Adopted(std::thread its) noexcept : thread(std::move(its)) {}
  ~Adopted() {}  // NOLINT(modernize-use-equals-default): of a union, and not to destroy the thread.
  Adopted(const Adopted&) = delete;
  Adopted& operator=(const Adopted&) = delete;

  union {
    std::thread thread;
  };
  Adopted* next = nullptr;
};

ProcessEnd::Stay::Stay() noexcept {
  ++of_this_thread;
  ++get().stays_;
}

ProcessEnd::Stay::~Stay() {
  --of_this_thread;
  --get().stays_;
}

ProcessEnd::ProcessEnd() {
  ::pthread_atfork(nullptr, nullptr, [] { get().begin_in_child(); });
}

ProcessEnd& ProcessEnd::get() {
  static auto& end = *new ProcessEnd;  // NOLINT(cppcoreguidelines-owning-memory)
  return end;
}

// A forked child has none of the threads.
void ProcessEnd::begin_in_child() noexcept {
  const bool amid_stays = stays_ > Stay::of_this_thread;
  if (threads_.exchange(0) > 0 || amid_stays) forked_amid_calls_ = true;
  if (amid_stays) ::on_exit(end_without_handlers_of_parent, nullptr);
  stays_ = Stay::of_this_thread;
  of_parent_ = adopted_.exchange(nullptr);
  // Those who listen lie on the stacks of threads that are not here.
  ending_ = std::stop_source();
}

void ProcessEnd::adopt(std::thread thread) {
  join_the_ended();
  add(new Adopted(std::move(thread)));  // NOLINT(cppcoreguidelines-owning-memory)
}

void ProcessEnd::add(Adopted* thread) noexcept {
  thread->next = adopted_;
  while (!adopted_.compare_exchange_weak(thread->next, thread)) {
  }
}

// Whether all have ended.
bool ProcessEnd::join_the_ended() noexcept {
  bool all = true;
  for (auto* thread = adopted_.exchange(nullptr); thread != nullptr;) {
    auto* const next = thread->next;
    const auto handle = thread->thread.native_handle();
    if (::pthread_equal(handle, ::pthread_self()) != 0) {
      add(thread);  // A host's callback ends the process there.
    } else if (::pthread_tryjoin_np(handle, nullptr) == EBUSY) {
      all = false;
      add(thread);
    } else {
      delete thread;  // NOLINT(cppcoreguidelines-owning-memory)
    }
    thread = next;
  }
  return all;
}

void ProcessEnd::go_before_libraries() {
  const std::lock_guard lock(libraries_mutex_);
  const auto libraries = vendor::libraries_ever_loaded();
  if (libraries == libraries_) return;
  libraries_ = libraries;
  const auto leaving = leave_process_alone();
  if (leaving == leaving_) return;
  leaving_ = leaving;
  // An abandoned compile returns into this library's code, which a host that loaded it as a plugin may unload.
  vendor::keep_loaded(reinterpret_cast<void (*)()>(register_nothing));
  std::atexit([] { get().wait(); });
}

void ProcessEnd::notice_main_thread() { thread_local const OfMainThread made_for_its_end; }

bool ProcessEnd::wait_for_this_thread() {
  thread_local const Presence presence;
  return !ending_.stop_requested();
}

// Takes no lock: the thread that ends the process may have been interrupted while it had one.
void ProcessEnd::wait() noexcept {
  constexpr std::chrono::seconds patience(10);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  ending_.request_stop();
  while (!out_of_patience_ &&
         (stays_ > Stay::of_this_thread || threads_ > 0 || !join_the_ended())) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    out_of_patience_ = std::chrono::steady_clock::now() >= deadline;
  }
}

namespace {

// Most programs load kiln in their main thread, and need not use it there.
[[maybe_unused]] const bool noticed_when_loaded = [] {
  ProcessEnd::notice_main_thread();
  return true;
}();

}  // namespace

}  // namespace kiln
