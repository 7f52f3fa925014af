#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "output.h"
#include "table.h"
#include "verbs.h"
#include "verbs/inspect.h"
#include "verbs/ship.h"

namespace kiln::cli {

namespace {

Json import_json(const std::filesystem::path& file, const ImportReport& report) {
  return {{"file", file.string()},
          {"added", report.added},
          {"present", report.present},
          {"skipped", skipped_json(report.skipped)}};
}

// Such as one that is named on a network's filesystem, and lies elsewhere.
[[noreturn]] void refuse_itself(const std::filesystem::path& file) {
  std::error_code error;
  const auto place = place_of_cache(std::filesystem::absolute(file, error));
  refuse(ErrorCode::invalid_argument,
         fmt::format("'{}' is the cache that it would be imported into{}{}", file.string(),
                     place.why_elsewhere.empty() ? "" : ": ", place.why_elsewhere));
}

}  // namespace

ExitCode import_files(const Globals& globals, const ImportWords& words) {
  auto cache = open_to_fill(globals);
  Table table(
      {{"FILE"}, {"ADDED", Align::right}, {"PRESENT", Align::right}, {"LEFT OUT", Align::right}});
  bool any = false;
  const auto worst = for_each(globals, words.files, [&](const std::filesystem::path& file) {
    auto source = open_shipped(file, settings_of(globals));
    if (source.file() == cache.file()) refuse_itself(file);
    const auto imported = cache.import(source).value();
    any = true;
    warn_of_skipped(globals, imported.skipped);
    table.add({file.string(), std::to_string(imported.added), std::to_string(imported.present),
               std::to_string(imported.skipped.size())});
    if (globals.json) print_json(import_json(file, imported));
    return exit_code_of(imported.skipped);
  });
  if (any && !globals.json && !globals.quiet)
    put_text(table.text(wants_colour(stdout), width_of(stdout)));
  return worst;
}

}  // namespace kiln::cli
