#include "verbs/artifact_report.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "json.h"
#include "output.h"
#include "table.h"
#include "verbs/inspect.h"
#include "verbs/program_words.h"
#include "verbs/progress.h"

namespace kiln::cli {

namespace {

std::string parameters_text(const KernelInfo& kernel) {
  std::uint64_t bytes = 0;
  for (const auto& param : kernel.params) bytes += param.size;
  return fmt::format("{} ({} B)", kernel.params.size(), bytes);
}

std::vector<std::string> kernel_cells(const KernelInfo& kernel) {
  if (!kernel.params_known) return {kernel.expression, "-", "-", "-", "-"};
  return {kernel.expression, std::to_string(kernel.registers), format_bytes(kernel.shared_bytes),
          format_bytes(kernel.local_bytes), parameters_text(kernel)};
}

std::vector<std::string> artifact_cells(const Artifact& artifact) {
  return {artifact.arch,
          artifact.kind,
          format_bytes(artifact.image.size()),
          to_string(artifact.origin),
          format_duration(artifact.compile_us),
          artifact.key.hex().substr(0, 12)};
}

// Where nothing was tried that might have failed.
const char* why_nothing_is_kept(const Runtime& runtime) {
  const auto& settings = runtime.settings();
  if (settings.cache_disabled || !runtime.cache_fault().empty())
    return "there is no cache to store it in";
  if (settings.cache_read_only) return "the cache is only read here, as KILN_CACHE_READONLY says";
  return "the cache is another user's, and only read here";
}

}  // namespace

std::filesystem::path output_path(const std::string& pattern, const std::string& arch) {
  const auto position = pattern.find(arch_placeholder);
  if (position == std::string::npos) return pattern;
  auto path = pattern;
  return path.replace(position, arch_placeholder.size(), arch);
}

void Keeping::see(const Event& event) {
  if (event.kind == EventKind::compile_begin) {
    stored = false;
    why_not = why_nothing_is;
  }
  if (event.kind == EventKind::hit || event.kind == EventKind::store) stored = true;
  if (event.kind == EventKind::not_stored) why_not = event.detail;
}

Runtime open_runtime(const Globals& globals, Keeping& keeping, const ProgramWords& given) {
  auto options = runtime_options(globals);
  const auto as_given = [given](std::string text) {
    return given.file.empty() ? text : with_given_name(std::move(text), given);
  };
  options.log = [log = std::move(options.log), as_given](LogLevel level, std::string_view text) {
    log(level, as_given(std::string(text)));
  };
  options.observer = [&keeping, as_given, quiet = globals.quiet](const Event& event) {
    keeping.see(event);
    if (event.kind == EventKind::not_stored) keeping.why_not = as_given(std::string(event.detail));
    if (quiet) return;
    if (event.kind == EventKind::compile_begin)
      show_under_way(fmt::format("compiling {} for {} ...", event.program, event.arch));
    if (event.kind == EventKind::compile_end) wipe_under_way();
  };
  auto runtime = Runtime::open(std::move(options)).value();
  keeping.why_nothing_is = why_nothing_is_kept(runtime);
  keeping.why_not = keeping.why_nothing_is;
  return runtime;
}

void check_image_output(const Globals& globals, const std::string& output,
                        const std::string& kind) {
  if (kind == to_string(ImageKind::ptx)) {
    check_standard_output(globals, output);
  } else {
    check_binary_output(globals, output);
  }
}

void write_image(const std::string& pattern, const Artifact& artifact) {
  if (!pattern.empty()) write_output(output_path(pattern, artifact.arch), artifact.image);
}

void tell(const Globals& globals, const Artifact& artifact, const Keeping& keeping) {
  if (globals.json) {
    auto document = artifact_json(artifact);
    document["stored"] = keeping.stored;
    document["not_stored"] = keeping.stored ? Json() : Json(keeping.why_not);
    print_json(document);
  }
  if (globals.quiet) return;
  // What cannot be kept by itself, the library has said.
  if (!keeping.stored && artifact.not_kept.empty()) {
    say("kiln: warning: {} for {} is not kept: {}\n", artifact.program, artifact.arch,
        was_warned_of(keeping.why_not) ? "as said above" : keeping.why_not);
  }
  if (artifact.log.empty()) return;
  print_log(fmt::format("kiln: {} said of {} for {}:", artifact.toolchain, artifact.program,
                        artifact.arch),
            printable(artifact.log, "\n\t"));
}

void print_artifacts(const std::vector<Artifact>& artifacts) {
  Table table({{"KERNEL"},
               {"REGISTERS", Align::right},
               {"SHARED", Align::right, 3},
               {"LOCAL", Align::right, 4},
               {"PARAMETERS", Align::right, 7},
               {"ARCH"},
               {"IMAGE", Align::left, 5},
               {"SIZE", Align::right, 6},
               {"ORIGIN", Align::left, 1},
               {"COMPILE", Align::right, 8},
               {"KEY", Align::left, 2}});
  const auto add = [&](std::vector<std::string> cells, const Artifact& artifact) {
    for (auto& cell : artifact_cells(artifact)) cells.push_back(std::move(cell));
    table.add(std::move(cells));
  };
  for (const auto& artifact : artifacts) {
    for (const auto& kernel : artifact.kernels) add(kernel_cells(kernel), artifact);
    if (artifact.kernels.empty()) add({"-", "-", "-", "-", "-"}, artifact);
  }
  put_text(table.text(wants_colour(stdout), width_of(stdout)));
}

}  // namespace kiln::cli
