#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/reporter.h"
#include "base/scratch_folder.h"
#include "compile/compile_service.h"
#include "compile/in_process.h"
#include "compile/worker/worker_keeper.h"
#include "compile/worker/worker_link.h"
#include "compile/worker/worker_queue.h"
#include "compile/worker/worker_search.h"
#include "vendor/installed_compiler.h"

namespace kiln {

struct WorkerPoolOptions {
  std::filesystem::path executable;         ///< kiln-worker, of this build.
  std::size_t workers = 1;                  ///< At most so many at a time.
  std::chrono::milliseconds timeout{};      ///< For one job, from when a worker has it.
  WorkerMemory memory{};                    ///< For each worker.
  std::uint64_t precompiled_max_bytes = 0;  ///< Of temporary files, for each worker.
  bool precompiled_large_pages = true;      ///< As RuntimeOptions has it.
};

/// Compiles in worker processes. It starts a worker when one is first needed, and keeps it. Jobs of one
/// prelude go to the worker that has the prelude in its memory.
///
/// When a worker dies, a fresh one tries its job once more. When that one dies as well, the job fails with
/// worker_failed, and the error says how the worker died. After a worker ran out of memory there is a
/// second try only if the fresh worker may have more. The pool kills a worker whose job is stopped or takes
/// too long, and replaces a worker that has grown. Where no worker can be started, or none can stand where this process does,
/// the pool warns once and compiles in this process, unless the compiler's variables (NVRTC_*) could change the result there.
///
/// Borrows compiler and reporter. All calls must have returned before the destructor, which ends the
/// workers. In a forked child the pool may be destroyed, and nothing else.
class WorkerPool : public CompileService {
 public:
  WorkerPool(WorkerPoolOptions options, InstalledCompiler& compiler, const Reporter& reporter);
  ~WorkerPool() override;

  [[nodiscard]] std::size_t concurrency() override { return options_.workers; }

  [[nodiscard]] Result<CompileOutcome> run(const CompileJob& job, std::stop_token stop) override;

 private:
  /// Whether a worker could be made ready for a job.
  enum class Start { ready, stopped, died, impossible };

  struct Place {
    std::unique_ptr<WorkerLink> link;
    std::uint64_t memory = 0;        ///< Address space that its worker may use.
    std::string trouble;             ///< Why its last worker ended, or did not start.
    bool ran_out_of_memory = false;  ///< Whether its last worker ended for that.
  };

  /// `request` is the job as it is sent.
  Result<CompileOutcome> run_at(std::size_t place, const CompileJob& job,
                                const std::string& request, const std::stop_token& stop);
  Result<CompileOutcome> run_without(const CompileJob& job, const std::string& why,
                                     const std::stop_token& stop);
  Start make_ready(std::size_t place, std::uint64_t memory, const StopSignal& stop);
  std::filesystem::path temporary();
  Start greet(std::size_t place, const StopSignal& stop);
  void end(std::size_t place, bool at_once);
  bool mourn(std::size_t place, const StopSignal& stop);
  void replace_if_grown(std::size_t place);

  const WorkerPoolOptions options_;
  InstalledCompiler& compiler_;
  const Reporter& reporter_;
  InProcessCompiler in_process_;
  const int owner_;

  /// Holds the workers' temporary files, so that none outlives the pool. The pool makes it for the first
  /// worker, since a runtime that only looks up writes nothing, and removes it after all workers ended.
  std::optional<ScratchFolder> scratch_;
  std::once_flag scratch_made_;
  std::unique_ptr<WorkerKeeper> keeper_;
  std::unique_ptr<WorkerQueue> queue_;
  std::vector<Place> places_;  ///< Each is used by the job that the queue gave it to.

  std::atomic<bool> any_greeted_{false};
  std::atomic<bool> unusable_{false};
  std::once_flag warned_;
};

}  // namespace kiln
