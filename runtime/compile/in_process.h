#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "compile/compile_service.h"
#include "compile/observed_compiler.h"
#include "vendor/installed_compiler.h"

namespace kiln {

/// Compiles in this process, each job on a thread of its own, so that its caller can leave.
///
/// NVRTC can be stopped only when it asks whether to go on, which it does seconds apart. So run() abandons a job
/// that is stopped or takes too long: it returns at once, NVRTC goes on alone until it next asks, and what it makes
/// is dropped. An abandoned compile owns all that it uses, and outlives this object if it must. The end of
/// the process tells it to stop, and waits for it (ProcessEnd). While very many are abandoned, run() waits
/// for one to end.
class InProcessCompiler final : public CompileService {
 public:
  /// `compiler` must outlive this. `timeout` is for each job; the bytes are for precompiled headers.
  InProcessCompiler(InstalledCompiler& compiler, std::chrono::milliseconds timeout,
                    std::uint64_t precompiled_max_bytes);

  /// Errors: those of compile(), cancelled, timed_out; compiler_missing, also at once in a process
  /// that was forked while its parent compiled.
  [[nodiscard]] Result<CompileOutcome> run(const CompileJob& job, std::stop_token stop) override;

 private:
  class Abandoned;
  class Attempt;

  InstalledCompiler& compiler_;
  const std::chrono::milliseconds timeout_;
  const std::shared_ptr<Abandoned> abandoned_;
  const std::shared_ptr<ObservedCompiler> nvrtc_compiler_;
};

}  // namespace kiln
