#include "compile/process_end.h"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <utility>

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
  adopted_threads_ = 0;
  out_of_patience_ = false;
  // Those who listen lie on the stacks of threads that are not here.
  ending_ = std::stop_source();
}

void ProcessEnd::adopt(std::thread thread) {
  join_the_ended();
  ++adopted_threads_;
  add(new Adopted(std::move(thread)));  // NOLINT(cppcoreguidelines-owning-memory)
}

void ProcessEnd::add(Adopted* thread) noexcept {
  thread->next = adopted_;
  while (!adopted_.compare_exchange_weak(thread->next, thread)) {
  }
}

void ProcessEnd::join_the_ended() noexcept {
  for (auto* thread = adopted_.exchange(nullptr); thread != nullptr;) {
    auto* const next = thread->next;
    const auto handle = thread->thread.native_handle();
    // The one that ends the process, as a host's callback may, waits for all but itself.
    const bool own = ::pthread_equal(handle, ::pthread_self()) != 0;
    if (!own && ::pthread_tryjoin_np(handle, nullptr) == EBUSY) {
      add(thread);
    } else {
      delete thread;  // NOLINT(cppcoreguidelines-owning-memory)
      --adopted_threads_;
    }
    thread = next;
  }
}

void ProcessEnd::go_before(const std::filesystem::path& library) {
  const std::lock_guard lock(libraries_mutex_);
  if (libraries_.insert(library).second) std::atexit([] { get().wait(); });
}

void ProcessEnd::notice_main_thread() { thread_local const OfMainThread made_for_its_end; }

bool ProcessEnd::wait_for_this_thread() {
  thread_local const Presence presence;
  return !ending_.stop_requested();
}

bool ProcessEnd::is_waited_for() const noexcept {
  return stays_ > Stay::of_this_thread || threads_ > 0 || adopted_threads_ > 0;
}

// Takes no lock: the thread that ends the process may have been interrupted while it had one.
void ProcessEnd::wait() noexcept {
  constexpr std::chrono::seconds patience(10);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  ending_.request_stop();
  for (join_the_ended(); !out_of_patience_ && is_waited_for(); join_the_ended()) {
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
