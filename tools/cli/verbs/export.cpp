#include <filesystem>

#include "verbs.h"
#include "verbs/inspect.h"
#include "verbs/ship.h"

namespace kiln::cli {

ExitCode export_bundle(const Globals& globals, const ExportWords& words) {
  const ExportOptions options{.without_sources = words.without_sources,
                              .signing_key = signing_key(settings_of(globals), words.sign)};
  auto cache = open_whole(globals);
  return write_bundle(globals, words.bundle, [&](const std::filesystem::path& file) {
    return cache.export_bundle(file, options).value();
  });
}

}  // namespace kiln::cli
