#include "verbs/program_items.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "output.h"
#include "verbs/entry_list.h"
#include "verbs/program_words.h"

namespace kiln::cli {

namespace {

namespace fs = std::filesystem;

bool says_of_a_source(const ProgramWords& words) {
  return !words.expressions.empty() || !words.include_dirs.empty() || !words.options.empty() ||
         words.standard_headers || words.image != ProgramWords().image;
}

ProgramItem item_of_source(const ProgramWords& words, const fs::path& file) {
  ProgramWords one = words;
  one.file = file;
  return {make_program(one), parse_targets(one), one};
}

std::vector<Target> targets_of(const ProgramWords& words, const ListedProgram& listed) {
  std::vector<Target> targets;
  for (const auto& arch : words.archs)
    targets.push_back(value_of("--arch", Target::parse(arch, listed.kind)));
  if (targets.empty()) targets = listed.targets;
  if (targets.empty()) {
    refuse(ErrorCode::invalid_argument,
           fmt::format("{}: no target: name one in the manifest, or with --arch", listed.where));
  }
  return targets;
}

std::vector<ListedProgram> wanted_of(const fs::path& manifest, const ProgramWords& words) {
  auto all = read_manifest(manifest).value();
  const bool any = !all.empty();
  std::erase_if(
      all, [&](const ListedProgram& listed) { return !matches(words.program, listed.spec.name); });
  if (any && all.empty()) {
    refuse(ErrorCode::not_found,
           fmt::format("{} has no program {}", manifest.string(), words.program));
  }
  return all;
}

}  // namespace

bool is_manifest(const fs::path& file) { return file.extension() == ".json"; }

void check_program_words(const ProgramWords& words, const std::vector<fs::path>& files) {
  const auto source = std::ranges::find_if_not(files, is_manifest);
  if (source != files.end() && words.archs.empty()) {
    refuse(ErrorCode::invalid_argument,
           fmt::format("{}: name the architecture of a source with --arch", source->string()));
  }
  if (source != files.end() && !words.program.empty()) {
    refuse(ErrorCode::invalid_argument,
           fmt::format("{}: a source is one program, and --program chooses from a manifest",
                       source->string()));
  }
  if (std::ranges::any_of(files, is_manifest) && says_of_a_source(words)) {
    refuse(ErrorCode::invalid_argument,
           "a manifest says of its programs all that a compile needs: of the words for a source "
           "only --arch goes with one");
  }
}

ExitCode for_each_program(const Globals& globals, Runtime& runtime, const ProgramWords& words,
                          const fs::path& file,
                          const std::function<ExitCode(const ProgramItem&)>& work) {
  if (!is_manifest(file)) return work(item_of_source(words, file));
  return for_each(globals, wanted_of(file, words), [&](const ListedProgram& listed) {
    return work({runtime.program_of(listed).value(), targets_of(words, listed)});
  });
}

Error error_of(const ProgramItem& item, Error error, bool verbose) {
  if (item.words) return as_given(std::move(error), *item.words, verbose);
  if (!verbose) error.message = without_options(std::move(error.message));
  return error;
}

}  // namespace kiln::cli
