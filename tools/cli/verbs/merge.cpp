#include <filesystem>
#include <utility>
#include <vector>

#include "verbs.h"
#include "verbs/ship.h"

namespace kiln::cli {

Result<ExitCode> merge(const Globals& globals, const MergeWords& words) {
  std::vector<Cache> sources;
  for (const auto& file : words.files) {
    auto source = open_shipped(file);
    if (!source) return tl::unexpected(source.error());
    sources.push_back(std::move(*source));
  }
  ExportOptions options{.without_sources = words.without_sources};
  for (auto source = sources.begin() + 1; source != sources.end(); ++source) {
    options.also.push_back(&*source);
  }
  const auto report = sources.front().export_bundle(words.bundle, options);
  if (!report) return tl::unexpected(report.error());
  return tell_of_bundle(globals, words.bundle, *report);
}

}  // namespace kiln::cli
