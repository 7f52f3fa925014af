#include "in_process.h"

#include <fmt/format.h>

#include "compile.h"

namespace kiln {

Result<CompileOutcome> InProcessCompiler::run(const CompileJob& job, std::stop_token stop) {
  if (stop.stop_requested()) {
    return fail(ErrorCode::cancelled,
                fmt::format("{} for {}: the compile was cancelled", job.program, job.arch));
  }
  const auto& nvrtc = compiler_.open();
  if (!nvrtc) return tl::unexpected(nvrtc.error());
  return compile(*nvrtc, job);
}

}  // namespace kiln
