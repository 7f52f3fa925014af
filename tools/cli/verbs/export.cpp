#include <filesystem>
#include <utility>

#include "output.h"
#include "verbs.h"
#include "verbs/carried_entries.h"
#include "verbs/inspect.h"
#include "verbs/ship.h"

namespace kiln::cli {

ExitCode export_bundle(const Globals& globals, const ExportWords& words) {
  ExportOptions options{.keys = {},
                        .without_sources = words.without_sources,
                        .signing_key = signing_key(settings_of(globals), words.sign)};
  auto cache = open_whole(globals);
  auto leaving = leaving_entries(globals, cache, words.entries);
  if (leaving.keys && leaving.keys->empty())
    refuse(ErrorCode::not_found, "nothing of what was asked for is in the cache");
  options.keys = std::move(leaving.keys);
  const auto written = write_bundle(
      globals, words.bundle,
      [&](const std::filesystem::path& file) { return cache.export_bundle(file, options).value(); },
      leaving.missing);
  return leaving.complete ? written : ExitCode::failure;
}

}  // namespace kiln::cli
