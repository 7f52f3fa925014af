#include "in_process.h"

#include <dlfcn.h>

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "background_thread.h"

namespace kiln {

namespace {

using Clock = std::chrono::steady_clock;

// An abandoned compile returns into this library's code, which a host that loaded it as a plugin may unload.
void keep_this_library_loaded() {
  static const bool kept = [] {
    Dl_info self{};
    return ::dladdr(reinterpret_cast<void*>(&keep_this_library_loaded), &self) != 0 &&
           ::dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE) != nullptr;
  }();
  static_cast<void>(kept);
}

Error timed_out(const CompileJob& job, std::chrono::milliseconds timeout) {
  return {ErrorCode::timed_out,
          fmt::format("{} for {}: not compiled within {} s, and given up; KILN_COMPILE_TIMEOUT or "
                      "RuntimeOptions::compile_timeout gives it longer",
                      job.program, job.arch, static_cast<double>(timeout.count()) / 1000),
          {},
          0};
}

}  // namespace

// How many compiles go on that nobody waits for.
class InProcessCompiler::Abandoned {
 public:
  /// False if there is no room until then.
  bool wait_for_room(const std::stop_token& stop, Clock::time_point deadline) {
    constexpr std::size_t most = 32;
    std::unique_lock lock(mutex_);
    return ended_.wait_until(lock, stop, deadline, [this] { return count_ < most; });
  }

  void add() {
    const std::lock_guard lock(mutex_);
    ++count_;
  }

  void remove() {
    const std::lock_guard lock(mutex_);
    --count_;
    ended_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::size_t count_ = 0;
};

// One job on its thread. Shared by the thread and by run(), whichever stays longer.
struct InProcessCompiler::Attempt {
  const vendor::Nvrtc nvrtc;
  const CompileJob job;
  const std::shared_ptr<Abandoned> abandoned;
  std::shared_ptr<NvrtcCompiler> compiler;
  std::stop_source stop = {};

  std::mutex mutex = {};
  std::condition_variable_any ended = {};
  std::optional<Result<CompileOutcome>> outcome = {};
  bool given_up = false;

  void carry_out() {
    auto made = compile_within_memory();
    const std::lock_guard lock(mutex);
    outcome = std::move(made);
    ended.notify_all();
    if (given_up) abandoned->remove();
  }

  Result<CompileOutcome> compile_within_memory() {
    // Let go before the outcome is told: who has waited finds nothing left behind.
    const auto own = std::exchange(compiler, nullptr);
    try {
      return own->run(nvrtc, job, stop.get_token());
    } catch (const std::exception& thrown) {
      return fail(ErrorCode::compile_failed,
                  fmt::format("{} for {}: {}", job.program, job.arch, thrown.what()));
    }
  }

  /// Nothing if it was stopped or the time is over first; then it goes on abandoned.
  std::optional<Result<CompileOutcome>> wait(const std::stop_token& wish,
                                             Clock::time_point deadline) {
    std::unique_lock lock(mutex);
    if (ended.wait_until(lock, wish, deadline, [this] { return outcome.has_value(); })) {
      return std::move(outcome);
    }
    given_up = true;
    abandoned->add();
    stop.request_stop();
    return std::nullopt;
  }
};

InProcessCompiler::InProcessCompiler(CompilerOnThisMachine& compiler,
                                     std::chrono::milliseconds timeout,
                                     std::uint64_t precompiled_max_bytes)
    : compiler_(compiler),
      timeout_(timeout),
      abandoned_(std::make_shared<Abandoned>()),
      nvrtc_compiler_(std::make_shared<NvrtcCompiler>(precompiled_max_bytes)) {}

Result<CompileOutcome> InProcessCompiler::run(const CompileJob& job, std::stop_token stop) {
  const auto& nvrtc = compiler_.open();
  if (!nvrtc) return tl::unexpected(nvrtc.error());
  const auto deadline = Clock::now() + timeout_;
  const auto given_up = [&] {
    return tl::unexpected(stop.stop_requested() ? cancelled(job) : timed_out(job, timeout_));
  };
  if (stop.stop_requested() || !abandoned_->wait_for_room(stop, deadline)) return given_up();
  keep_this_library_loaded();
  const auto attempt = std::make_shared<Attempt>(*nvrtc, job, abandoned_, nvrtc_compiler_);
  try {
    start_background_thread([attempt] { attempt->carry_out(); }).detach();
  } catch (const std::system_error&) {
    // Where there can be no more threads, the caller's own compiles all the same.
    return nvrtc_compiler_->run(*nvrtc, job, stop);
  }
  if (auto outcome = attempt->wait(stop, deadline)) return std::move(*outcome);
  return given_up();
}

}  // namespace kiln
