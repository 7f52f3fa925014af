#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "exit_code.h"
#include "json.h"
#include "kiln/digest.h"
#include "kiln/manifest.h"
#include "kiln/runtime.h"
#include "verbs/trace_summary.h"
#include "words.h"

namespace kiln::cli {

/// What look-ups of listed programs would come to now.
struct Lookups {
  /// `asked served rows[]`: how many look-ups there are, how many would be served, and for some thousand of them, those that
  /// would not first, `program arch image hit reason differences[]`.
  Json report;
  std::set<Digest> served;  ///< Keys of the entries that would serve.
};

/// Asks for each program and target and compiles nothing. What cannot be asked for would not be served, with the reason.
[[nodiscard]] Lookups look_up(Runtime& runtime, const std::vector<ListedProgram>& programs);

/// Where the time of compiles went.
struct TracedPrograms {
  TraceSummary summary;
  std::vector<std::string> failures;  ///< Why programs could not be compiled, a line each.
};

/// Compiles each program once, for its first target, and keeps nothing of it; shows how far it is. Programs that fail are
/// reported, and give the worst exit status. REQUIRES: each program has a target.
[[nodiscard]] ExitCode trace_each(const Globals& globals, Runtime& runtime,
                                  const std::vector<ListedProgram>& programs,
                                  TracedPrograms& traced);

}  // namespace kiln::cli
