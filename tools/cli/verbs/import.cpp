#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "output.h"
#include "table.h"
#include "verbs.h"
#include "verbs/inspect.h"
#include "verbs/ship.h"

namespace kiln::cli {

namespace {

Result<ImportReport> import_one(Cache& cache, const std::filesystem::path& file) {
  auto source = open_shipped(file);
  if (!source) return tl::unexpected(source.error());
  return cache.import(*source);
}

Json import_json(const std::filesystem::path& file, const ImportReport& report) {
  return {{"file", file.string()},
          {"added", report.added},
          {"present", report.present},
          {"skipped", skipped_json(report.skipped)}};
}

}  // namespace

Result<ExitCode> import_files(const Globals& globals, const ImportWords& words) {
  auto cache = open_to_fill(globals);
  if (!cache) return tl::unexpected(cache.error());

  // One file that fails does not keep the others from being imported.
  Table table(
      {{"FILE"}, {"ADDED", Align::right}, {"PRESENT", Align::right}, {"LEFT OUT", Align::right}});
  ExitCode worst = ExitCode::done;
  bool any = false;
  for (const auto& file : words.files) {
    const auto imported = import_one(*cache, file);
    if (!imported) {
      report(globals, imported.error());
      worst = std::max(worst, exit_code_of(imported.error().code));
      continue;
    }
    any = true;
    warn_of_skipped(globals, imported->skipped);
    worst = std::max(worst, exit_code_of(imported->skipped));
    table.add({file.string(), std::to_string(imported->added), std::to_string(imported->present),
               std::to_string(imported->skipped.size())});
    if (globals.json) print_json(import_json(file, *imported));
  }
  if (any && !globals.json && !globals.quiet) fmt::print("{}", table.text(wants_colour(stdout)));
  return worst;
}

}  // namespace kiln::cli
