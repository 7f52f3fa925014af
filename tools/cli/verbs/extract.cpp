#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "json.h"
#include "output.h"
#include "verbs.h"
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

std::string wanted_part(Cache& cache, const StoredEntry& entry, const Globals& globals,
                        const ExtractWords& words) {
  const auto& kernels = entry.artifact.kernels;
  if (words.source) return cache.text(entry.request.source).value();
  if (words.names) return globals.json ? names_document(kernels) : names_text(kernels);
  if (words.log) return entry.artifact.log;
  return entry.artifact.image.string();
}

void write_part(const ExtractWords& words, const std::string& part) {
  if (words.output != "-") return write_file(words.output, part);
  const bool binary = part.find('\0') != std::string::npos;
  if (binary && is_terminal(stdout)) {
    refuse(
        ErrorCode::invalid_argument,
        "the image is binary and standard output is a terminal: name a file with -o, or pipe it");
  }
  fmt::print("{}", part);
}

}  // namespace

ExitCode extract(const Globals& globals, const ExtractWords& words) {
  auto cache = open_for_inspection(globals).value();
  const auto entry = find_entry(cache, words.key);
  write_part(words, wanted_part(cache, entry, globals, words));
  return ExitCode::done;
}

}  // namespace kiln::cli
