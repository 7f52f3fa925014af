#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/reporter.h"
#include "compile/worker/worker_pool.h"
#include "compile/worker/worker_search.h"
#include "support/nvrtc.h"
#include "vendor/installed_compiler.h"

namespace kiln::test {

/// A pool with the real helper, and all that it borrows.
class Pool {
 public:
  explicit Pool(std::size_t workers, const std::function<void(WorkerPoolOptions&)>& adjust = {});

  Result<CompileOutcome> run(const CompileJob& job, std::stop_token stop = {}) {
    return pool_->run(job, std::move(stop));
  }
  [[nodiscard]] std::string warnings() const;

 private:
  mutable std::mutex mutex_;
  std::string warnings_;
  InstalledCompiler compiler_{wanted_nvrtc(), vendor::NvrtcVariables::cleared};
  Reporter reporter_;
  std::unique_ptr<WorkerPool> pool_;
};

/// The processes that this one started and that are not reaped yet.
[[nodiscard]] std::vector<pid_t> children();

/// Waits until it holds; false past the limit.
bool becomes_true(const std::function<bool()>& condition,
                  std::chrono::milliseconds limit = std::chrono::seconds(20));

/// Whether there is such a process, not counting one that has only to be reaped.
[[nodiscard]] bool runs(pid_t process);

}  // namespace kiln::test
