#pragma once

#include <string>
#include <vector>

#include "header_search.h"
#include "kiln/artifact.h"
#include "kiln/error.h"
#include "kiln/program.h"
#include "kiln/target.h"
#include "vendor/nvrtc.h"

namespace kiln {

/// What the compiler needs beside the program.
struct CompileInputs {
  const std::vector<HeaderForCompiler>& embedded;
  const std::vector<std::string>& include_dirs;
  /// Of the request: seeds the names of what has internal linkage, for which NVRTC otherwise draws a
  /// random number, so that the same request gives the same bytes.
  Digest seed;
};

/// Compiles; nothing is cached here. The artifact lacks its key and toolchain, which are the caller's.
/// Errors: compile_failed with the compiler's whole log, the options and the architecture; or
/// header_not_found, unknown_kernel, unknown_arch, invalid_option where the log says that.
[[nodiscard]] Result<Artifact> compile(const vendor::Nvrtc& nvrtc, const Program& program,
                                       const Target& target, const CompileInputs& inputs);

}  // namespace kiln
