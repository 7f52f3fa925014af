#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "artifact_report.h"
#include "kiln/kiln.h"
#include "output.h"
#include "verbs.h"

namespace kiln::cli {

namespace {

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
  const bool one_image = words.archs.size() == 1 || words.image == to_string(ImageKind::fatbin);
  if (!words.output.empty() && !one_image && !named_for_each) {
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

// What one artifact is made for: an architecture, or of a fatbin all.
using Share = std::vector<Target>;

std::vector<Share> shares_of(const std::vector<Target>& targets) {
  if (targets.front().kind() == ImageKind::fatbin) return {targets};
  std::vector<Share> shares;
  for (const auto& target : targets) shares.push_back({target});
  return shares;
}

Result<Artifact> compile_one(Runtime& runtime, const Program& program, const Share& share,
                             const std::string& output) {
  const auto& target = share.front();
  auto artifact = target.kind() == ImageKind::fatbin ? runtime.fatbin(program, share)
                                                     : runtime.compile(program, target);
  if (!artifact || output.empty()) return artifact;
  const auto written = write_image(output, *artifact);
  if (!written) return tl::unexpected(written.error());
  return artifact;
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
  for (const auto& share : shares_of(*targets)) {
    auto artifact = compile_one(*runtime, *program, share, words.output);
    if (!artifact) {
      report(globals, artifact.error());
      worst = std::max(worst, exit_code_of(artifact.error().code));
      continue;
    }
    tell(globals, *artifact, keeping);
    done.push_back(std::move(*artifact));
  }
  if (!globals.json && !globals.quiet && !done.empty()) print_artifacts(done);
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
  verb->add_option("--image", words->image,
                   "cubin, ptx, ltoir, optixir or fatbin (one for all architectures)")
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
