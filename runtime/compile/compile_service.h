#pragma once

#include <cstddef>
#include <stop_token>

#include "compile/compile_job.h"
#include "kiln/error.h"

namespace kiln {

/// Where compile jobs run: in this process or in workers. Safe to use from any thread.
class CompileService {
 public:
  CompileService() = default;
  CompileService(const CompileService&) = delete;
  CompileService& operator=(const CompileService&) = delete;
  virtual ~CompileService() = default;

  /// How many jobs it is worth giving it at one time.
  [[nodiscard]] virtual std::size_t concurrency() { return 1; }

  /// Runs one job to its end, or until it is stopped: then it returns soon, whatever the compiler does.
  /// Errors: those of compile(), cancelled, timed_out, worker_failed.
  [[nodiscard]] virtual Result<CompileOutcome> run(const CompileJob& job, std::stop_token stop) = 0;
};

}  // namespace kiln
