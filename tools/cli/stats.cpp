#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "inspect.h"
#include "json.h"
#include "output.h"
#include "table.h"
#include "verbs.h"

namespace kiln::cli {

namespace {

Json statistics_json(const std::string& file, const CacheStatistics& sums) {
  return {{"file", file},
          {"file_bytes", sums.file_bytes},
          {"entries", sums.entries},
          {"image_bytes", sums.image_bytes},
          {"stored_bytes", sums.stored_bytes},
          {"texts", sums.texts},
          {"text_bytes", sums.text_bytes},
          {"stored_text_bytes", sums.stored_text_bytes},
          {"dependency_sets", sums.dependency_sets},
          {"compile_ms", static_cast<double>(sums.compile_us) / 1000}};
}

std::string statistics_text(const std::string& file, const CacheStatistics& sums) {
  const auto compressed = [](std::uint64_t plain, std::uint64_t stored) {
    return fmt::format("{} ({} stored)", format_bytes(plain), format_bytes(stored));
  };
  return field_list(
      {{"file", file},
       {"file size", format_bytes(sums.file_bytes)},
       {"entries", std::to_string(sums.entries)},
       {"images", compressed(sums.image_bytes, sums.stored_bytes)},
       {"sources and headers",
        fmt::format("{}, {}", sums.texts, compressed(sums.text_bytes, sums.stored_text_bytes))},
       {"dependency sets", std::to_string(sums.dependency_sets)},
       {"compile time kept", format_duration(sums.compile_us)}},
      wants_colour(stdout));
}

Result<ExitCode> print_statistics(const Globals& globals) {
  auto cache = open_for_inspection(globals);
  if (!cache) return tl::unexpected(cache.error());
  const auto sums = cache->statistics();
  if (!sums) return tl::unexpected(sums.error());
  const auto file = cache->file().string();
  if (globals.json) {
    print_json(statistics_json(file, *sums));
  } else {
    fmt::print("{}", statistics_text(file, *sums));
  }
  return ExitCode::done;
}

}  // namespace

void add_stats(CLI::App& app, const Globals& globals, Action& chosen) {
  auto* verb = app.add_subcommand("stats", "Sum up what a cache holds");
  verb->callback(
      [&globals, &chosen] { chosen = [&globals] { return print_statistics(globals); }; });
}

}  // namespace kiln::cli
