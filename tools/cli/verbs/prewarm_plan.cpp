#include "verbs/prewarm_plan.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "output.h"
#include "temporary_folder.h"
#include "verbs/program_items.h"
#include "verbs/ship.h"

namespace kiln::cli {

namespace {

using ListedPrograms = std::vector<ListedProgram>;

// What is compiled from a stranger's sources is this user's own afterwards, and asked for no signature any more. So they
// are taken as an import takes them, and read from where no stranger writes.
RecordedPrograms signed_programs(Cache& from, const std::filesystem::path& name) {
  const TemporaryFolder folder;
  auto own = Cache::open(folder.path(), {.access = Cache::Access::read_write}).value();
  const auto imported = own.import(from).value();
  if (!imported.skipped.empty()) {
    const auto& first = imported.skipped.front();
    refuse(
        ErrorCode::cache_unusable,
        fmt::format("'{}': {} {} {}; keys are set (KILN_TRUSTED_KEYS), and programs are compiled "
                    "only from what one of them has signed: kiln import takes the signed entries "
                    "alone",
                    name.string(), first.what, first.name, first.problem));
  }
  return recorded_programs(own).value();
}

ListedPrograms read_all(const PrewarmSources& sources, PrewarmPlan& plan) {
  ListedPrograms listing;
  for (const auto& file : sources.manifests) {
    auto read = read_manifest(file).value();
    std::move(read.begin(), read.end(), std::back_inserter(listing));
  }
  if (!sources.from) return listing;
  auto cache = open_shipped(*sources.from, sources.settings);
  auto recorded = sources.settings.trusted_keys.empty() ? recorded_programs(cache).value()
                                                        : signed_programs(cache, *sources.from);
  std::move(recorded.programs.begin(), recorded.programs.end(), std::back_inserter(listing));
  for (auto& failure : recorded.failures)
    plan.failures.push_back({failure.program, failure.arch, {}, std::move(failure.error)});
  return listing;
}

void add(const Result<Program>& program, const ListedProgram& listed,
         const std::vector<Target>& targets, PrewarmPlan& plan) {
  for (const auto& target : targets) {
    if (!program) {
      plan.failures.push_back(
          {listed.spec.name, target.arch(), to_string(target.kind()), program.error()});
      continue;
    }
    plan.items.push_back({*program, target});
    plan.recorded.push_back(listed.from_record);
  }
}

}  // namespace

PrewarmPlan plan_prewarm(Runtime& runtime, const PrewarmSources& sources) {
  PrewarmPlan plan;
  for (const auto& listed : read_all(sources, plan)) {
    const auto targets = targets_of(listed, sources.archs, sources.image);
    if (targets.empty()) {
      refuse(ErrorCode::invalid_argument,
             fmt::format("{}: no target: name some in the manifest, or with --arch", listed.where));
    }
    add(runtime.program_of(listed), listed, targets, plan);
  }
  return plan;
}

}  // namespace kiln::cli
