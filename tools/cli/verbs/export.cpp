#include <filesystem>

#include "verbs.h"
#include "verbs/ship.h"

namespace kiln::cli {

ExitCode export_bundle(const Globals& globals, const ExportWords& words) {
  auto cache = open_whole(globals);
  return write_bundle(globals, words.bundle, [&](const std::filesystem::path& file) {
    return cache.export_bundle(file, {.without_sources = words.without_sources}).value();
  });
}

}  // namespace kiln::cli
