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

std::vector<ImageKind> kinds_of(const ListedProgram& listed) {
  std::vector<ImageKind> kinds;
  for (const auto& target : listed.targets) {
    if (std::ranges::count(kinds, target.kind()) == 0) kinds.push_back(target.kind());
  }
  if (kinds.empty()) kinds.push_back(listed.kind);
  return kinds;
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

std::vector<Target> targets_of(const ListedProgram& listed, const std::vector<std::string>& archs,
                               const std::optional<ImageKind>& image) {
  if (archs.empty() && !image) return listed.targets;
  std::vector<std::string> wanted = archs;
  if (wanted.empty()) {
    for (const auto& target : listed.targets) wanted.push_back(target.arch());
  }
  const auto kinds = image ? std::vector{*image} : kinds_of(listed);
  std::vector<Target> targets;
  for (const auto& arch : wanted) {
    for (const auto kind : kinds) {
      auto target = value_of("--arch", Target::parse(arch, kind));
      if (std::ranges::find(targets, target) == targets.end()) targets.push_back(std::move(target));
    }
  }
  return targets;
}

std::vector<Target> some_targets_of(const ListedProgram& listed,
                                    const std::vector<std::string>& archs) {
  auto targets = targets_of(listed, archs);
  if (targets.empty()) {
    refuse(ErrorCode::invalid_argument,
           fmt::format("{}: no target: name one in the manifest, or with --arch", listed.where));
  }
  return targets;
}

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
    return work({runtime.program_of(listed).value(), some_targets_of(listed, words.archs)});
  });
}

Error error_of(const ProgramItem& item, Error error, bool verbose) {
  if (item.words) return as_given(std::move(error), *item.words, verbose);
  if (!verbose) error.message = without_options(std::move(error.message));
  return error;
}

}  // namespace kiln::cli
