#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>

#include "ship.h"
#include "verbs.h"

namespace kiln::cli {

namespace {

struct ExportWords {
  std::filesystem::path bundle;
  bool without_sources = false;
};

Result<ExitCode> export_bundle(const Globals& globals, const ExportWords& words) {
  auto cache = open_whole(globals);
  if (!cache) return tl::unexpected(cache.error());
  const auto report =
      cache->export_bundle(words.bundle, {.without_sources = words.without_sources});
  if (!report) return tl::unexpected(report.error());
  return tell_of_bundle(globals, words.bundle, *report);
}

}  // namespace

void add_export(CLI::App& app, const Globals& globals, Action& chosen) {
  auto words = std::make_shared<ExportWords>();
  auto* verb = app.add_subcommand("export", "Write a bundle of all entries, to be shipped");
  verb->add_option("BUNDLE", words->bundle, "The file to write; it appears whole or not at all")
      ->required()
      ->type_name("");
  verb->add_flag("--without-sources", words->without_sources, "Leave out sources and headers");
  verb->callback([words, &globals, &chosen] {
    chosen = [words, &globals] { return export_bundle(globals, *words); };
  });
}

}  // namespace kiln::cli
