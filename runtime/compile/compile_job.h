#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/artifact.h"
#include "kiln/digest.h"
#include "kiln/error.h"
#include "kiln/program.h"
#include "kiln/request.h"
#include "kiln/target.h"
#include "source/closure.h"
#include "source/header_search.h"
#include "source/query.h"
#include "source/reading.h"

namespace kiln {

/// One compile with all that it needs: a value that owns what it holds, so that it may outlive the call
/// that made it, and may be sent to another process.
struct CompileJob {
  std::string program;                      ///< The program's name.
  std::string source;                       ///< CUDA C++.
  std::vector<HeaderForCompiler> embedded;  ///< Each name once.
  std::vector<std::string> include_dirs;    ///< Absolute, in order.
  std::vector<std::string> expressions;     ///< Name expressions, sorted and distinct.
  std::vector<std::string> options;         ///< The program's own.
  std::string arch;                         ///< "sm_90a", "compute_90", …
  ImageKind kind = ImageKind::cubin;
  /// Of the request: seeds the names of what has internal linkage, for which NVRTC otherwise draws a
  /// random number, so that the same request gives the same bytes.
  Digest seed;
  /// Names the preprocessing directives that the source begins with, the content of all that they may
  /// read, and what else a precompiled header depends on: jobs of one digest may share one. Empty where
  /// there is none to share.
  Digest prelude;
  /// More jobs of this prelude are to come, so that sharing pays; else that is seen when it comes again.
  bool prelude_repeats = false;
  /// Whether a scan does not know all that the prelude reads. It can be shared unless what it then reads may tell the
  /// program's name.
  bool prelude_is_open = false;
  /// Whether names may stand for the include directories (NamedRoots).
  bool names_roots = false;
  /// Where NVRTC writes its time trace: this file's name, without a dot, and ".json". Empty for none. The image of such
  /// a job must not be kept, since tracing changes it.
  std::string trace_file;
};

/// The job of this query, whose embedded headers are given. It shares no prelude.
[[nodiscard]] CompileJob make_job(const Query& query, std::vector<HeaderForCompiler> embedded);

/// The job of this query, which may where its prelude repeats: other programs have it, whose names may be others.
[[nodiscard]] CompileJob make_job(const Query& query, const Closure& closure, bool prelude_repeats);

/// What a job came to. The caller gives the artifact its key and toolchain.
struct CompileOutcome {
  Artifact artifact;
  std::optional<Readings> readings = {};  ///< Nothing where nobody can see what the compiler reads.
  bool precompiled = false;               ///< Its prelude was precompiled.
};

/// The error of a job: "engine.cu for sm_90a: what went wrong".
[[nodiscard]] tl::unexpected<Error> fail(ErrorCode code, const CompileJob& job,
                                         std::string_view what, const std::string& log = {},
                                         int vendor_code = 0);

/// The error of a job that nobody wants any more.
[[nodiscard]] tl::unexpected<Error> cancelled(const CompileJob& job);

/// The error of a job that took longer than it may.
[[nodiscard]] tl::unexpected<Error> timed_out(const CompileJob& job,
                                              std::chrono::milliseconds timeout);

}  // namespace kiln
