#include <filesystem>
#include <vector>

#include "output.h"
#include "verbs.h"
#include "verbs/inspect.h"
#include "verbs/ship.h"

namespace kiln::cli {

ExitCode merge(const Globals& globals, const MergeWords& words) {
  refuse_to_overwrite(words.bundle, words.files);
  std::vector<Cache> sources;
  const auto settings = settings_of(globals);
  for (const auto& file : words.files) sources.push_back(open_shipped(file, settings));
  ExportOptions options{.keys = {},
                        .without_sources = words.without_sources,
                        .signing_key = signing_key(settings, words.sign)};
  for (auto source = sources.begin() + 1; source != sources.end(); ++source) {
    options.also.push_back(&*source);
  }
  return write_bundle(globals, words.bundle, [&](const std::filesystem::path& file) {
    return sources.front().export_bundle(file, options).value();
  });
}

}  // namespace kiln::cli
