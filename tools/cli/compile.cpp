#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "compile_words.h"
#include "json.h"
#include "kiln/kiln.h"
#include "output.h"
#include "table.h"
#include "verbs.h"

namespace kiln::cli {

namespace {

constexpr std::string_view arch_placeholder = "{arch}";

struct OutputWords : CompileWords {
  std::string output;
};

Result<void> check_output(const OutputWords& words) {
  if (words.output == "-") {
    return fail(ErrorCode::invalid_argument,
                "-o -: standard output is for the report; name a file, or use kiln extract");
  }
  const bool named_for_each = words.output.find(arch_placeholder) != std::string::npos;
  if (!words.output.empty() && words.archs.size() > 1 && !named_for_each) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("-o {}: one file cannot hold the images of {} architectures; put {} into "
                    "its name",
                    words.output, words.archs.size(), arch_placeholder));
  }
  return {};
}

// Whether what was compiled last is in the cache, and why not.
struct Keeping {
  bool stored = false;
  std::string why_not = "there is no cache to store it in";

  void see(const Event& event) {
    if (event.kind == EventKind::compile_begin) *this = {};
    if (event.kind == EventKind::hit || event.kind == EventKind::store) stored = true;
    if (event.kind == EventKind::not_stored) why_not = event.detail;
  }
};

Result<Runtime> open_runtime(const Globals& globals, Keeping& keeping) {
  RuntimeOptions options;
  options.observer = [&keeping](const Event& event) { keeping.see(event); };
  options.cache_directory = globals.cache;
  options.log = log_to_standard_error();
  if (globals.quiet) options.log_level = LogLevel::off;
  return Runtime::open(std::move(options));
}

std::filesystem::path output_path(const std::string& pattern, const std::string& arch) {
  const auto position = pattern.find(arch_placeholder);
  if (position == std::string::npos) return pattern;
  auto path = pattern;
  return path.replace(position, arch_placeholder.size(), arch);
}

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

void print_table(const std::vector<Artifact>& artifacts) {
  Table table({{"KERNEL"},
               {"REGISTERS", Align::right},
               {"SHARED", Align::right},
               {"LOCAL", Align::right},
               {"PARAMETERS", Align::right},
               {"ARCH"},
               {"IMAGE"},
               {"SIZE", Align::right},
               {"ORIGIN"},
               {"COMPILE", Align::right},
               {"KEY"}});
  const auto add = [&](std::vector<std::string> cells, const Artifact& artifact) {
    for (auto& cell : artifact_cells(artifact)) cells.push_back(std::move(cell));
    table.add(std::move(cells));
  };
  for (const auto& artifact : artifacts) {
    for (const auto& kernel : artifact.kernels) add(kernel_cells(kernel), artifact);
    if (artifact.kernels.empty()) add({"-", "-", "-", "-", "-"}, artifact);
  }
  fmt::print("{}", table.text(wants_colour(stdout)));
}

Result<Artifact> compile_one(Runtime& runtime, const Program& program, const Target& target,
                             const std::string& output) {
  auto artifact = runtime.compile(program, target);
  if (!artifact || output.empty()) return artifact;
  const auto written = write_file(output_path(output, artifact->arch), artifact->image);
  if (!written) return tl::unexpected(written.error());
  return artifact;
}

void tell(const Globals& globals, const Artifact& artifact, const Keeping& keeping) {
  if (globals.json) {
    auto document = artifact_json(artifact);
    document["stored"] = keeping.stored;
    if (!keeping.stored) document["not_stored"] = keeping.why_not;
    print_json(document);
  }
  if (globals.quiet) return;
  if (!keeping.stored) {
    fmt::print(stderr, "kiln: warning: {} for {} is not kept: {}\n", artifact.program,
               artifact.arch, keeping.why_not);
  }
  if (artifact.log.empty()) return;
  print_log(fmt::format("kiln: {} said of {} for {}:", artifact.toolchain, artifact.program,
                        artifact.arch),
            artifact.log);
}

Result<ExitCode> compile(const Globals& globals, const OutputWords& words) {
  const auto targets = parse_targets(words);
  if (!targets) return tl::unexpected(targets.error());
  if (const auto checked = check_output(words); !checked) return tl::unexpected(checked.error());
  const auto program = make_program(words);
  if (!program) return tl::unexpected(program.error());
  Keeping keeping;
  auto runtime = open_runtime(globals, keeping);
  if (!runtime) return tl::unexpected(runtime.error());

  // One architecture that fails does not keep the others from being compiled.
  std::vector<Artifact> done;
  ExitCode worst = ExitCode::done;
  for (const auto& target : *targets) {
    auto artifact = compile_one(*runtime, *program, target, words.output);
    if (!artifact) {
      report(globals, artifact.error());
      worst = std::max(worst, exit_code_of(artifact.error().code));
      continue;
    }
    tell(globals, *artifact, keeping);
    done.push_back(std::move(*artifact));
  }
  if (!globals.json && !globals.quiet && !done.empty()) print_table(done);
  return worst;
}

}  // namespace

void add_compile(CLI::App& app, const Globals& globals, Action& chosen) {
  auto words = std::make_shared<OutputWords>();
  auto* verb = app.add_subcommand("compile", "Compile one program, or serve it from the cache");
  add_compile_words(*verb, *words);
  verb->add_option("-o", words->output, "Write the image there; {arch} in the name is replaced")
      ->type_name("FILE");
  verb->callback([=, &globals, &chosen] {
    read_options(*verb, *words);
    chosen = [words, &globals] { return compile(globals, *words); };
  });
}

}  // namespace kiln::cli
