#include "compile/worker/worker_keeper.h"

#include <chrono>
#include <future>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/background_thread.h"

namespace kiln {

namespace {

using namespace std::chrono_literals;

constexpr auto moment_to_end = 500ms;

}  // namespace

WorkerKeeper::~WorkerKeeper() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Result<std::unique_ptr<WorkerProcess>> WorkerKeeper::start(const std::filesystem::path& executable,
                                                           const std::filesystem::path& temporary) {
  std::promise<Result<std::unique_ptr<WorkerProcess>>> promise;
  auto started = promise.get_future();
  {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable()) {
      try {
        thread_ = start_background_thread([this] { work(); });
      } catch (const std::system_error& error) {
        return fail(ErrorCode::worker_failed,
                    fmt::format("no thread for compile workers: {}", error.what()));
      }
    }
    orders_.emplace_back([&] { promise.set_value(WorkerProcess::start(executable, temporary)); });
  }
  changed_.notify_all();
  return started.get();
}

void WorkerKeeper::end(std::unique_ptr<WorkerProcess> process, bool at_once) {
  const auto now = std::chrono::steady_clock::now();
  process->hang_up();
  if (at_once) process->kill();
  {
    const std::lock_guard lock(mutex_);
    endings_.push_back({std::move(process), at_once ? now : now + moment_to_end});
  }
  changed_.notify_all();
}

void WorkerKeeper::work() {
  std::unique_lock lock(mutex_);
  while (!closing_ || !endings_.empty()) {
    const auto woken = [this] { return closing_ || !orders_.empty() || !endings_.empty(); };
    changed_.wait(lock, woken);
    while (!orders_.empty()) {
      const auto order = std::move(orders_.front());
      orders_.pop_front();
      lock.unlock();
      order();
      lock.lock();
    }
    reap();
    // Nobody but the host's own handler is told when a child ends: so this thread asks.
    if (!endings_.empty()) changed_.wait_for(lock, 5ms, [this] { return !orders_.empty(); });
  }
}

void WorkerKeeper::reap() {
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(endings_, [&](const Ending& ending) {
    if (now >= ending.kill_at) ending.process->kill();
    return ending.process->wait(0ms);
  });
}

}  // namespace kiln
