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

/// What look-ups of each program and target would come to now, of which none is compiled: `asked served rows[]`, how many
/// look-ups there are, how many would be served, and for some thousand of them, those that would not first, `program arch
/// image hit reason differences[]`. What cannot be asked for would not be served, with the reason. `served` gets the keys of
/// the entries that would serve.
[[nodiscard]] Json look_up(Runtime& runtime, const std::vector<ListedProgram>& programs,
                           std::set<Digest>& served);

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
