#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "ship.h"
#include "verbs.h"

namespace kiln::cli {

namespace {

struct MergeWords {
  std::vector<std::filesystem::path> files;
  std::filesystem::path bundle;
  bool without_sources = false;
};

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

}  // namespace

void add_merge(CLI::App& app, const Globals& globals, Action& chosen) {
  auto words = std::make_shared<MergeWords>();
  auto* verb = app.add_subcommand("merge", "Make one bundle of several");
  verb->add_option("FILE", words->files, "Bundles, or folders of caches")
      ->required()
      ->type_name("");
  verb->add_option("-o", words->bundle, "The file to write; it appears whole or not at all")
      ->required()
      ->type_name("BUNDLE");
  verb->add_flag("--without-sources", words->without_sources, "Leave out sources and headers");
  verb->callback([words, &globals, &chosen] {
    chosen = [words, &globals] { return merge(globals, *words); };
  });
}

}  // namespace kiln::cli
