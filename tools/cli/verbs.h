#pragma once

#include <string>
#include <vector>

#include "exit_code.h"
#include "words.h"

namespace kiln::cli {

// The work of each verb, which prints its report on standard output. Errors are exceptions, those of Result::value() and
// of refuse().

[[nodiscard]] ExitCode compile(const Globals& globals, const CompileWords& words);
[[nodiscard]] ExitCode link(const Globals& globals, const LinkWords& words);
[[nodiscard]] ExitCode explain(const Globals& globals, const ProgramWords& words);
[[nodiscard]] ExitCode trace(const Globals& globals, const TraceWords& words);
[[nodiscard]] ExitCode prewarm(const Globals& globals, const PrewarmWords& words);
[[nodiscard]] ExitCode list_entries(const Globals& globals, const LsWords& words);
[[nodiscard]] ExitCode list_kernels(const Globals& globals, const KernelsWords& words);
[[nodiscard]] ExitCode diff(const Globals& globals, const DiffWords& words);
[[nodiscard]] ExitCode write_report(const Globals& globals, const ReportWords& words);
[[nodiscard]] ExitCode show(const Globals& globals, const ShowWords& words);
[[nodiscard]] ExitCode extract(const Globals& globals, const ExtractWords& words);
[[nodiscard]] ExitCode disassemble(const Globals& globals, const DisasmWords& words);
[[nodiscard]] ExitCode compile_commands(const Globals& globals, const CompileCommandsWords& words);
[[nodiscard]] ExitCode stats(const Globals& globals, const StatsWords& words);
[[nodiscard]] ExitCode verify(const Globals& globals, const VerifyWords& words);
[[nodiscard]] ExitCode collect(const Globals& globals, const GcWords& words);
[[nodiscard]] ExitCode clear(const Globals& globals, const ClearWords& words);
[[nodiscard]] ExitCode pin(const Globals& globals, const PinWords& words, bool pinned);
[[nodiscard]] ExitCode export_bundle(const Globals& globals, const ExportWords& words);
[[nodiscard]] ExitCode import_files(const Globals& globals, const ImportWords& words);
[[nodiscard]] ExitCode merge(const Globals& globals, const MergeWords& words);
[[nodiscard]] ExitCode push_entries(const Globals& globals, const PushWords& words);
[[nodiscard]] ExitCode pull_entries(const Globals& globals, const PullWords& words);
[[nodiscard]] ExitCode key(const Globals& globals, const KeyWords& words);
[[nodiscard]] ExitCode config(const Globals& globals, const ConfigWords& words);
[[nodiscard]] ExitCode diagnose(const Globals& globals, const DoctorWords& words);

/// What LsWords::sort may be.
[[nodiscard]] std::vector<std::string> sort_orders();

/// What KernelsWords::sort may be.
[[nodiscard]] std::vector<std::string> kernel_orders();

}  // namespace kiln::cli
