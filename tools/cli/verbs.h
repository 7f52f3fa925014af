#pragma once

#include <string>
#include <vector>

#include "exit_code.h"
#include "kiln/error.h"
#include "words.h"

namespace kiln::cli {

// The work of each verb. Reports stand on standard output, and are written by the time of the return.

[[nodiscard]] Result<ExitCode> compile(const Globals& globals, const CompileWords& words);
[[nodiscard]] Result<ExitCode> link(const Globals& globals, const LinkWords& words);
[[nodiscard]] Result<ExitCode> explain(const Globals& globals, const ProgramWords& words);
[[nodiscard]] Result<ExitCode> prewarm(const Globals& globals, const PrewarmWords& words);
[[nodiscard]] Result<ExitCode> list_entries(const Globals& globals, const LsWords& words);
[[nodiscard]] Result<ExitCode> show(const Globals& globals, const ShowWords& words);
[[nodiscard]] Result<ExitCode> extract(const Globals& globals, const ExtractWords& words);
[[nodiscard]] Result<ExitCode> stats(const Globals& globals, const StatsWords& words);
[[nodiscard]] Result<ExitCode> verify(const Globals& globals, const VerifyWords& words);
[[nodiscard]] Result<ExitCode> collect(const Globals& globals, const GcWords& words);
[[nodiscard]] Result<ExitCode> clear(const Globals& globals, const ClearWords& words);
[[nodiscard]] Result<ExitCode> pin(const Globals& globals, const PinWords& words, bool pinned);
[[nodiscard]] Result<ExitCode> export_bundle(const Globals& globals, const ExportWords& words);
[[nodiscard]] Result<ExitCode> import_files(const Globals& globals, const ImportWords& words);
[[nodiscard]] Result<ExitCode> merge(const Globals& globals, const MergeWords& words);
[[nodiscard]] Result<ExitCode> print_settings(const Globals& globals);
[[nodiscard]] Result<ExitCode> diagnose(const Globals& globals);

/// What LsWords::sort may be.
[[nodiscard]] std::vector<std::string> sort_orders();

}  // namespace kiln::cli
