#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "json.h"
#include "kiln/sources.h"
#include "output.h"
#include "table.h"
#include "verbs.h"
#include "verbs/entry_choice.h"
#include "verbs/inspect.h"

namespace kiln::cli {

namespace {

std::string names_text(const std::vector<KernelInfo>& kernels) {
  std::string text;
  for (const auto& kernel : kernels)
    text += fmt::format("{}\t{}\n", kernel.expression, kernel.symbol);
  return text;
}

std::string names_document(const std::vector<KernelInfo>& kernels) {
  auto list = Json::array();
  for (const auto& kernel : kernels) {
    list.push_back({{"expression", kernel.expression}, {"symbol", kernel.symbol}});
  }
  return document_text({{"names", list}});
}

std::string source_of(Cache& cache, const StoredEntry& entry) {
  auto text = cache.text(entry.request.source);
  if (!text && text.error().code == ErrorCode::not_found) {
    refuse(ErrorCode::not_found,
           fmt::format("the source of {} for {} is not kept here, as where an entry comes from a "
                       "bundle or a store without sources",
                       entry.artifact.program, entry.artifact.arch));
  }
  return std::move(text).value();
}

std::string wanted_part(Cache& cache, const StoredEntry& entry, const Globals& globals,
                        const ExtractWords& words) {
  const auto& kernels = entry.artifact.kernels;
  if (words.source) return source_of(cache, entry);
  if (words.names) return globals.json ? names_document(kernels) : names_text(kernels);
  if (words.log) return entry.artifact.log;
  return entry.artifact.image.string();
}

// As cuda-gdb and shells read it.
std::string quoted(const std::string& path) {
  constexpr std::string_view harmless =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+-@%,:=";
  if (path.find_first_not_of(harmless) == std::string::npos) return path;
  std::string result = "'";
  for (const char c : path) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

Json paths_json(const std::vector<std::filesystem::path>& paths) {
  auto list = Json::array();
  for (const auto& path : paths) list.push_back(path.string());
  return list;
}

std::string sources_text(const LaidOutSources& sources, const std::string& folder,
                         const std::string& substitution) {
  const std::string nsight = fmt::format(
      "ncu --import-source yes --source-folders {}\nin its window: Tools > Options > Source Lookup",
      quoted(folder));
  return field_list({{"files", std::to_string(sources.files.size())},
                     {"program", sources.files.front().string()},
                     {"cuda-gdb", substitution},
                     {"Nsight Compute", nsight}},
                    wants_colour(stdout));
}

void warn_of_missing(const Globals& globals, const LaidOutSources& sources) {
  if (!sources.line_information && !globals.quiet) {
    say("kiln: warning: the image has no line information, so no tool asks for these files: "
        "compile "
        "with --option=-lineinfo\n");
  }
  warn_of_each(globals, sources.skipped, "left out: ");
}

ExitCode lay_out(const Globals& globals, Cache& cache, const StoredEntry& entry,
                 const std::filesystem::path& given) {
  const auto folder = absolute_path(given);
  const auto sources = lay_out_sources(cache, entry, folder).value();
  const auto substitution = fmt::format("set substitute-path / {}", quoted(folder.string()));
  warn_of_missing(globals, sources);
  print_report(globals,
               {{"folder", folder.string()},
                {"files", paths_json(sources.files)},
                {"skipped", sources.skipped},
                {"line_information", sources.line_information},
                {"cuda_gdb", substitution}},
               sources_text(sources, folder.string(), substitution));
  return sources.skipped.empty() ? ExitCode::done : ExitCode::findings;
}

}  // namespace

ExitCode extract(const Globals& globals, const ExtractWords& words) {
  auto cache = open_for_inspection(globals).value();
  const auto entry = find_entry(cache, words);
  if (words.sources) return lay_out(globals, cache, entry, *words.sources);
  if (!words.names) check_standard_output(globals, words.output);
  check_output_file(words.output, {cache.file()}, words.source);
  write_output(words.output, wanted_part(cache, entry, globals, words));
  return ExitCode::done;
}

}  // namespace kiln::cli
