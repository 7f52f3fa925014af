#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "json.h"
#include "kiln/kiln.h"
#include "output.h"
#include "table.h"
#include "verbs.h"

namespace kiln::cli {

namespace {

constexpr std::string_view arch_placeholder = "{arch}";

struct CompileWords {
  std::filesystem::path file;
  std::vector<std::string> archs;
  std::vector<std::string> expressions;
  std::vector<std::filesystem::path> include_dirs;
  std::vector<std::string> options;
  std::string image = "cubin";
  std::string output;
};

Result<std::vector<Target>> parse_targets(const CompileWords& words) {
  const auto kind = parse_image_kind(words.image);
  if (!kind) return tl::unexpected(kind.error());
  std::vector<Target> targets;
  for (const auto& arch : words.archs) {
    auto target = Target::parse(arch, *kind);
    if (!target) return tl::unexpected(target.error());
    targets.push_back(std::move(*target));
  }
  return targets;
}

Result<void> check_output(const CompileWords& words) {
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

Result<Program> make_program(const CompileWords& words) {
  auto source = read_input(words.file);
  if (!source) return tl::unexpected(source.error());
  const bool from_standard_input = words.file == "-";
  return Program::make({.name = from_standard_input ? "stdin.cu" : words.file.filename().string(),
                        .source = std::move(*source),
                        .headers = {device_headers()},
                        .include_dirs = words.include_dirs,
                        .kernels = words.expressions,
                        .options = words.options});
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

Result<ExitCode> compile(const Globals& globals, const CompileWords& words) {
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

// -D and --option share one order on the command line, and the compiler reads them in that order.
std::vector<std::string> options_in_order(const CLI::App& verb, const CLI::Option* defines,
                                          const CLI::Option* others) {
  std::vector<std::string> options;
  auto define = defines->results().begin();
  auto other = others->results().begin();
  for (const auto* option : verb.parse_order()) {
    if (option == defines) options.push_back("-D" + *define++);
    if (option == others) options.push_back(*other++);
  }
  return options;
}

}  // namespace

void add_compile(CLI::App& app, const Globals& globals, Action& chosen) {
  auto words = std::make_shared<CompileWords>();
  auto* verb = app.add_subcommand("compile", "Compile one program, or serve it from the cache");
  verb->add_option("FILE", words->file, "CUDA C++ source; - reads standard input")
      ->required()
      ->type_name("");
  verb->add_option("--arch", words->archs, "Architectures, e.g. sm_80,sm_90a; or native")
      ->required()
      ->allow_extra_args(false)
      ->delimiter(',')
      ->type_name("A[,B...]");
  verb->add_option("--name", words->expressions,
                   "Name expression of a kernel wanted, e.g. 'f<float, 4>'; repeatable")
      ->allow_extra_args(false)
      ->type_name("EXPR");
  verb->add_option("-I", words->include_dirs, "Folder to search for headers; repeatable")
      ->allow_extra_args(false)
      ->type_name("DIR");
  auto* defines = verb->add_option("-D", "Macro to define; repeatable")
                      ->expected(1, CLI::detail::expected_max_vector_size)
                      ->allow_extra_args(false)
                      ->type_name("NAME[=VALUE]");
  auto* others =
      verb->add_option("--option", "Option for the compiler, e.g. --option=--std=c++20; repeatable")
          ->expected(1, CLI::detail::expected_max_vector_size)
          ->allow_extra_args(false)
          ->type_name("OPTION");
  verb->add_option("--image", words->image, "cubin, ptx, ltoir or optixir")
      ->capture_default_str()
      ->type_name("KIND");
  verb->add_option("-o", words->output, "Write the image there; {arch} in the name is replaced")
      ->type_name("FILE");
  verb->callback([=, &globals, &chosen] {
    words->options = options_in_order(*verb, defines, others);
    chosen = [words, &globals] { return compile(globals, *words); };
  });
}

}  // namespace kiln::cli
