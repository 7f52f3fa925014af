#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "compile/compile_job.h"
#include "kiln/error.h"
#include "source/named_roots.h"
#include "vendor/nvrtc.h"

namespace kiln {

/// Compiles in this process, and caches nothing. `own_options` are kiln's; they come beside the job's, and show
/// neither in the image nor in a message. `roots` name the job's include directories, where that is wanted, and whoever answers NVRTC
/// has to know them. `stop` ends it when NVRTC next asks whether to go on (12.8 and later),
/// which may take seconds.
/// Errors: compile_failed with the compiler's whole log, the options and the architecture; or
/// header_not_found, unknown_kernel, unknown_arch, invalid_option where the log says that; cancelled.
[[nodiscard]] Result<CompileOutcome> compile(const vendor::Nvrtc& nvrtc, const CompileJob& job,
                                             const std::vector<std::string>& own_options,
                                             const NamedRoots* roots, const std::stop_token& stop);

}  // namespace kiln
