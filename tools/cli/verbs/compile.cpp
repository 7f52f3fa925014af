#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kiln/kiln.h"
#include "output.h"
#include "table.h"
#include "verbs.h"
#include "verbs/artifact_report.h"
#include "verbs/program_items.h"
#include "verbs/program_words.h"

namespace kiln::cli {

namespace {

void check_output(const Globals& globals, const CompileWords& words) {
  check_image_output(globals, words.output, words.image);
  for (const auto& arch : words.archs)
    check_output_file(output_path(words.output, arch), {words.file});
  if (!words.output.empty() && is_manifest(words.file)) {
    refuse(ErrorCode::invalid_argument,
           fmt::format("-o {}: one file cannot hold the images of a manifest; kiln extract writes "
                       "one of them",
                       words.output));
  }
  const bool named_for_each = words.output.find(arch_placeholder) != std::string::npos;
  const bool one_image = words.archs.size() == 1 || words.image == to_string(ImageKind::fatbin);
  if (!words.output.empty() && !one_image && !named_for_each) {
    refuse(
        ErrorCode::invalid_argument,
        fmt::format("-o {}: one file cannot hold the images of {} architectures; name a file with "
                    "{} in it",
                    words.output, words.archs.size(), arch_placeholder));
  }
}

// What one artifact is made for: an architecture, or of a fatbin all.
using Share = std::vector<Target>;

std::vector<Share> shares_of(const std::vector<Target>& targets) {
  std::vector<Share> shares;
  Share of_fatbin;
  for (const auto& target : targets) {
    if (target.kind() == ImageKind::fatbin) {
      of_fatbin.push_back(target);
    } else {
      shares.push_back({target});
    }
  }
  if (!of_fatbin.empty()) shares.push_back(std::move(of_fatbin));
  return shares;
}

// All that the compiler says of a source names the file as the command line does.
Artifact compile_one(Runtime& runtime, const ProgramItem& item, const Share& share, bool verbose) {
  const auto& target = share.front();
  auto made = target.kind() == ImageKind::fatbin ? runtime.fatbin(item.program, share)
                                                 : runtime.compile(item.program, target);
  if (!made) throw Failure(error_of(item, std::move(made.error()), verbose));
  if (item.words) made->log = with_given_name(std::move(made->log), *item.words);
  return std::move(*made);
}

// What was not compiled, and what that saved.
struct Served {
  std::size_t count = 0;
  std::chrono::nanoseconds time{};
  std::uint64_t compile_us = 0;

  void add(const Artifact& artifact, std::chrono::nanoseconds its_time) {
    ++count;
    time += its_time;
    compile_us += artifact.compile_us;
  }

  [[nodiscard]] std::string text(std::size_t of) const {
    const auto us = std::chrono::ceil<std::chrono::microseconds>(time).count();
    const auto saved = compile_us == 0  // A bundle does not tell.
                           ? std::string()
                           : fmt::format("; to compile took {}", format_duration(compile_us));
    return fmt::format("{} of {} served in {}{}\n", count, of,
                       format_duration(static_cast<std::uint64_t>(us)), saved);
  }
};

// Nothing of a template is compiled unless an expression names it.
void warn_of_templates(const Globals& globals, const Program& program) {
  if (globals.quiet || !program.kernels().empty()) return;
  const auto templates = kernel_templates(program);
  if (templates.empty()) return;
  say("kiln: warning: {} declares the templates {}, of which nothing is compiled: name the "
      "instances that are "
      "wanted, e.g. --name '{}<…>'\n",
      program.name(), fmt::join(templates, ", "), templates.front());
}

}  // namespace

ExitCode compile(const Globals& globals, const CompileWords& words) {
  check_program_words(words, {words.file});
  check_output(globals, words);
  Keeping keeping;
  auto runtime = open_runtime(globals, keeping, words);
  std::vector<Artifact> done;
  Served served;
  const auto make = [&](const ProgramItem& item, const Share& share) {
    const auto begin = std::chrono::steady_clock::now();
    auto artifact = compile_one(runtime, item, share, words.verbose);
    if (artifact.origin != Origin::compiled)
      served.add(artifact, std::chrono::steady_clock::now() - begin);
    write_image(words.output, artifact);
    tell(globals, artifact, keeping);
    done.push_back(std::move(artifact));
    return ExitCode::done;
  };
  const auto worst =
      for_each_program(globals, runtime, words, words.file, [&](const ProgramItem& item) {
        if (item.words) warn_of_templates(globals, item.program);
        return for_each(globals, shares_of(item.targets),
                        [&](const Share& share) { return make(item, share); });
      });
  if (!globals.json && !globals.quiet && !done.empty() && words.output != "-") {
    print_artifacts(done);
    if (served.count > 0) put_text(served.text(done.size()));
  }
  return worst;
}

}  // namespace kiln::cli
