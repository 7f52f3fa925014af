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

/// A thread that starts worker processes and reaps them, so that they neither end with the thread that
/// happened to want one, nor have anybody wait for their end. Safe to use from any thread. At its end
/// it waits for those it was given.
class WorkerKeeper {
 public:
  WorkerKeeper() = default;
  WorkerKeeper(const WorkerKeeper&) = delete;
  WorkerKeeper& operator=(const WorkerKeeper&) = delete;
  /// Not in a forked child, which has neither the thread nor the workers.
  ~WorkerKeeper();

  /// Errors: worker_failed.
  [[nodiscard]] Result<std::unique_ptr<WorkerProcess>> start(
      const std::filesystem::path& executable, const std::filesystem::path& temporary);

  /// Ends it: at once, or with a moment to end by itself.
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
