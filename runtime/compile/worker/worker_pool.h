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

/// Compiles in worker processes, which are started when they are first needed and kept. Jobs of one
/// prelude go to one worker, whose memory has it.
///
/// A worker that dies costs its job a second try in a fresh one, then the job fails with worker_failed
/// and says how it died. One that ran out of its memory does so only where the fresh one may have more. One that is stopped or takes too long is killed. One that has grown is replaced.
/// Where no worker can be had, a warning is given once and the job is compiled in this process, unless
/// variables of the compiler (NVRTC_*) would make that another result.
///
/// Borrows compiler and reporter. All calls must have ended before its end, which ends the workers.
/// In a forked child it may be destroyed, and nothing else.
class WorkerPool : public CompileService {
 public:
  WorkerPool(WorkerPoolOptions options, InstalledCompiler& compiler, const Reporter& reporter);
  ~WorkerPool() override;

  [[nodiscard]] std::size_t concurrency() override { return options_.workers; }

  [[nodiscard]] Result<CompileOutcome> run(const CompileJob& job, std::stop_token stop) override;

 private:
  /// What came of getting a worker ready for a job.
  enum class Start { ready, stopped, died, impossible };

  struct Place {
    std::unique_ptr<WorkerLink> link;
    std::uint64_t memory = 0;        ///< What the worker there may have.
    std::string trouble;             ///< Why the last one is no longer there.
    bool ran_out_of_memory = false;  ///< Whether that is why.
  };

  Result<CompileOutcome> run_at(std::size_t place, const CompileJob& job,
                                const std::stop_token& stop);
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

  /// For the workers' temporary files, so that none outlives this; made for the first worker, since a
  /// runtime that only looks up writes nothing. It ends after they do.
  std::optional<ScratchFolder> scratch_;
  std::once_flag scratch_made_;
  std::unique_ptr<WorkerKeeper> keeper_;
  std::unique_ptr<WorkerQueue> queue_;
  std::vector<Place> places_;  ///< Each is its holder's, whom the queue names.

  std::atomic<bool> any_greeted_{false};
  std::atomic<bool> unusable_{false};
  std::once_flag warned_;
};

}  // namespace kiln
