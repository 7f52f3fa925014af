#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kiln/kiln.h"
#include "output.h"
#include "verbs.h"
#include "verbs/artifact_report.h"
#include "verbs/program_words.h"

namespace kiln::cli {

namespace {

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

// What one artifact is made for: an architecture, or of a fatbin all.
using Share = std::vector<Target>;

std::vector<Share> shares_of(const std::vector<Target>& targets) {
  if (targets.front().kind() == ImageKind::fatbin) return {targets};
  std::vector<Share> shares;
  shares.reserve(targets.size());
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

}  // namespace

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

}  // namespace kiln::cli
