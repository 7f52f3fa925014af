#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "compile/worker/worker_process.h"
#include "kiln/error.h"

namespace kiln {

/// Starts and reaps worker processes on a thread of its own. The system kills a worker when the thread
/// that started it ends, so no thread of the host's may start one; and nobody has to wait for a worker's
/// end. Safe to use from any thread. The destructor waits for the workers that end() was given.
class WorkerKeeper {
 public:
  WorkerKeeper() = default;
  WorkerKeeper(const WorkerKeeper&) = delete;
  WorkerKeeper& operator=(const WorkerKeeper&) = delete;
  /// Must not run in a forked child, which has neither the thread nor the workers.
  ~WorkerKeeper();

  /// Errors: worker_failed.
  [[nodiscard]] Result<std::unique_ptr<WorkerProcess>> start(
      const std::filesystem::path& executable, const std::filesystem::path& temporary);

  /// Kills the worker at once, or gives it a moment to end by itself before.
  void end(std::unique_ptr<WorkerProcess> process, bool at_once);

 private:
  struct Ending {
    std::unique_ptr<WorkerProcess> process;
    std::chrono::steady_clock::time_point kill_at;
  };

  void work();
  void reap();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> orders_;
  std::vector<Ending> endings_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace kiln
