#include <filesystem>

#include "verbs.h"
#include "verbs/ship.h"

namespace kiln::cli {

Result<ExitCode> export_bundle(const Globals& globals, const ExportWords& words) {
  auto cache = open_whole(globals);
  if (!cache) return tl::unexpected(cache.error());
  const auto report =
      cache->export_bundle(words.bundle, {.without_sources = words.without_sources});
  if (!report) return tl::unexpected(report.error());
  return tell_of_bundle(globals, words.bundle, *report);
}

}  // namespace kiln::cli
