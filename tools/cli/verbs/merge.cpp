#include <filesystem>
#include <vector>

#include "verbs.h"
#include "verbs/ship.h"

namespace kiln::cli {

ExitCode merge(const Globals& globals, const MergeWords& words) {
  std::vector<Cache> sources;
  for (const auto& file : words.files) sources.push_back(open_shipped(file));
  ExportOptions options{.without_sources = words.without_sources};
  for (auto source = sources.begin() + 1; source != sources.end(); ++source) {
    options.also.push_back(&*source);
  }
  const auto report = sources.front().export_bundle(words.bundle, options).value();
  return tell_of_bundle(globals, words.bundle, report);
}

}  // namespace kiln::cli
