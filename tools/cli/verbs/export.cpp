#include <filesystem>

#include "verbs.h"
#include "verbs/ship.h"

namespace kiln::cli {

ExitCode export_bundle(const Globals& globals, const ExportWords& words) {
  auto cache = open_whole(globals);
  const auto report =
      cache.export_bundle(words.bundle, {.without_sources = words.without_sources}).value();
  return tell_of_bundle(globals, words.bundle, report);
}

}  // namespace kiln::cli
