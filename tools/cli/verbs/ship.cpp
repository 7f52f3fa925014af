#include "verbs/ship.h"

#include <cstddef>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "output.h"
#include "table.h"
#include "verbs/inspect.h"

namespace kiln::cli {

namespace {

// Exit status 1 tells that rows were left out; a file that is not there must not look like that.
Cache or_failure(Result<Cache> cache) {
  if (!cache && cache.error().code == ErrorCode::not_found)
    refuse(ErrorCode::io_failed, std::move(cache.error().message));
  return std::move(cache).value();
}

}  // namespace

Cache open_whole(const Globals& globals) { return or_failure(open_for_inspection(globals)); }

Cache open_shipped(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_directory(file, error)) return or_failure(Cache::open_bundle(file));
  return or_failure(
      Cache::open(std::filesystem::absolute(file, error), {.access = Cache::Access::read_only}));
}

Json skipped_json(const std::vector<Finding>& skipped) {
  auto list = Json::array();
  for (const auto& row : skipped) {
    list.push_back({{"what", row.what}, {"name", row.name}, {"problem", row.problem}});
  }
  return list;
}

void warn_of_skipped(const Globals& globals, const std::vector<Finding>& skipped) {
  constexpr std::size_t most_lines = 10;
  if (globals.quiet) return;
  for (std::size_t at = 0; at < skipped.size(); ++at) {
    if (at == most_lines) {
      say("kiln: warning: and {} more; --json names them all\n", skipped.size() - at);
      return;
    }
    const auto& row = skipped[at];
    say("kiln: warning: {} {} {}; it is left out\n", row.what, row.name, row.problem);
  }
}

ExitCode tell_of_bundle(const Globals& globals, const std::filesystem::path& bundle,
                        const ExportReport& report) {
  warn_of_skipped(globals, report.skipped);
  print_report(globals,
               {{"bundle", bundle.string()},
                {"entries", report.entries},
                {"file_bytes", report.file_bytes},
                {"skipped", skipped_json(report.skipped)}},
               field_list({{"bundle", bundle.string()},
                           {"entries", std::to_string(report.entries)},
                           {"size", format_bytes(report.file_bytes)},
                           {"left out", std::to_string(report.skipped.size())}},
                          wants_colour(stdout)));
  return exit_code_of(report.skipped);
}

}  // namespace kiln::cli
