#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "inspect.h"
#include "json.h"
#include "output.h"
#include "verbs.h"

namespace kiln::cli {

namespace {

struct ExtractWords {
  std::string key;
  bool image = false;
  bool source = false;
  bool names = false;
  bool log = false;
  std::filesystem::path output = "-";
};

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
  return list.dump() + '\n';
}

Result<std::string> wanted_part(Cache& cache, const StoredEntry& entry, const Globals& globals,
                                const ExtractWords& words) {
  const auto& kernels = entry.artifact.kernels;
  if (words.source) return cache.text(entry.request.source);
  if (words.names) return globals.json ? names_document(kernels) : names_text(kernels);
  if (words.log) return entry.artifact.log;
  return entry.artifact.image.string();
}

Result<void> write_part(const ExtractWords& words, const std::string& part) {
  if (words.output != "-") return write_file(words.output, part);
  const bool binary = part.find('\0') != std::string::npos;
  if (binary && is_terminal(stdout)) {
    return fail(
        ErrorCode::invalid_argument,
        "the image is binary and standard output is a terminal: name a file with -o, or pipe it");
  }
  fmt::print("{}", part);
  return {};
}

Result<ExitCode> extract(const Globals& globals, const ExtractWords& words) {
  auto cache = open_for_inspection(globals);
  if (!cache) return tl::unexpected(cache.error());
  const auto entry = find_entry(*cache, words.key);
  if (!entry) return tl::unexpected(entry.error());
  const auto part = wanted_part(*cache, *entry, globals, words);
  if (!part) return tl::unexpected(part.error());
  const auto written = write_part(words, *part);
  if (!written) return tl::unexpected(written.error());
  return ExitCode::done;
}

}  // namespace

void add_extract(CLI::App& app, const Globals& globals, Action& chosen) {
  auto words = std::make_shared<ExtractWords>();
  auto* verb = app.add_subcommand("extract",
                                  "Write one part of an entry: its image, if nothing else is said");
  verb->add_option("KEY", words->key, "The entry's key, or the first digits of it")
      ->required()
      ->type_name("");
  auto* part = verb->add_option_group("part")->require_option(0, 1);
  part->add_flag("--image", words->image, "The image's bytes, as readelf and nvdisasm take them");
  part->add_flag("--source", words->source, "The program's source");
  part->add_flag("--names", words->names, "Each name expression, a tab, its lowered name");
  part->add_flag("--log", words->log, "What the compiler said");
  verb->add_option("-o", words->output, "Where to; - is standard output")
      ->capture_default_str()
      ->type_name("FILE");
  verb->callback([words, &globals, &chosen] {
    chosen = [words, &globals] { return extract(globals, *words); };
  });
}

}  // namespace kiln::cli
