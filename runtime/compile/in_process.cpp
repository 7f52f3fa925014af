#include "compile/in_process.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/background_thread.h"
#include "compile/process_end.h"

namespace kiln {

namespace {

using Clock = std::chrono::steady_clock;

bool process_ends() { return ProcessEnd::get().ending().stop_requested(); }

}  // namespace

// Counts the compiles that go on and that nobody waits for.
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
class InProcessCompiler::Attempt {
 public:
  Attempt(const vendor::Nvrtc& nvrtc, CompileJob job, std::shared_ptr<Abandoned> abandoned,
          std::shared_ptr<ObservedCompiler> compiler)
      : nvrtc_(nvrtc),
        job_(std::move(job)),
        abandoned_(std::move(abandoned)),
        compiler_(std::move(compiler)) {}

  void carry_out() {
    auto made = compile_within_memory();
    const std::lock_guard lock(mutex_);
    outcome_.emplace(std::move(made));
    ended_.notify_all();
    if (given_up_) abandoned_->remove();
  }

  /// Nothing if it was stopped, the process ends or the time is over first; then it goes on abandoned.
  std::optional<Result<CompileOutcome>> wait(const std::stop_token& wish,
                                             Clock::time_point deadline) {
    // The end of the process takes no lock, and so wakes nobody.
    constexpr std::chrono::milliseconds look(10);
    std::unique_lock lock(mutex_);
    if (outcome_) return std::move(outcome_);
    while (!wish.stop_requested() && !process_ends() && Clock::now() < deadline) {
      const auto until = std::min(deadline, Clock::now() + look);
      if (ended_.wait_until(lock, wish, until, [this] { return outcome_.has_value(); }))
        return std::move(outcome_);
    }
    given_up_ = true;
    abandoned_->add();
    stop_.request_stop();
    return std::nullopt;
  }

 private:
  Result<CompileOutcome> compile_within_memory() {
    auto& end = ProcessEnd::get();
    if (!end.wait_for_this_thread()) return cancelled(job_);
    const std::stop_callback at_the_end(end.ending(), [this] { stop_.request_stop(); });
    try {
      return compiler_->run(nvrtc_, job_, stop_.get_token());
    } catch (const std::exception& thrown) {
      return fail(ErrorCode::compile_failed, job_, thrown.what());
    }
  }

  const vendor::Nvrtc nvrtc_;
  const CompileJob job_;
  const std::shared_ptr<Abandoned> abandoned_;
  const std::shared_ptr<ObservedCompiler> compiler_;
  std::stop_source stop_;

  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::optional<Result<CompileOutcome>> outcome_;
  bool given_up_ = false;
};

InProcessCompiler::InProcessCompiler(InstalledCompiler& compiler, std::chrono::milliseconds timeout,
                                     std::uint64_t precompiled_max_bytes)
    : compiler_(compiler),
      timeout_(timeout),
      abandoned_(std::make_shared<Abandoned>()),
      nvrtc_compiler_(std::make_shared<ObservedCompiler>(precompiled_max_bytes)) {}

Result<CompileOutcome> InProcessCompiler::run(const CompileJob& job, std::stop_token stop) {
  if (ProcessEnd::get().forked_amid_calls()) {
    return fail(
        ErrorCode::compiler_missing, job,
        "not compiled: this process was forked while its parent compiled, and has the "
        "compiler locked for good; KILN_COMPILE_WORKERS=1 compiles in a process of its own");
  }
  ProcessEnd::notice_main_thread();
  const ProcessEnd::Stay stay;
  if (!stay) return cancelled(job);
  const auto& nvrtc = compiler_.open();
  if (!nvrtc) return tl::unexpected(nvrtc.error());
  ProcessEnd::get().go_before(compiler_.search().files->library);
  const auto deadline = Clock::now() + timeout_;
  const auto given_up = [&] {
    return stop.stop_requested() || process_ends() ? cancelled(job) : timed_out(job, timeout_);
  };
  if (stop.stop_requested() || !abandoned_->wait_for_room(stop, deadline)) return given_up();
  const auto attempt = std::make_shared<Attempt>(*nvrtc, job, abandoned_, nvrtc_compiler_);
  std::thread thread;
  try {
    thread = start_background_thread([attempt] { attempt->carry_out(); });
  } catch (const std::system_error&) {
    // Where there can be no more threads, the caller's own compiles all the same.
    return nvrtc_compiler_->run(*nvrtc, job, stop);
  }
  if (auto outcome = attempt->wait(stop, deadline)) {
    thread.join();
    return std::move(*outcome);
  }
  ProcessEnd::get().adopt(std::move(thread));
  return given_up();
}

}  // namespace kiln
