#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kiln/kiln.h"
#include "output.h"
#include "verbs.h"
#include "verbs/artifact_report.h"
#include "verbs/inspect.h"

namespace kiln::cli {

namespace {

// How the linker's inputs begin; the two that are binary by their magic numbers.
Result<ImageKind> kind_of(const std::string& file, const std::string& bytes) {
  if (bytes.starts_with("\x7f"
                        "ELF")) {
    return ImageKind::cubin;
  }
  if (bytes.starts_with("\xed"
                        "CN\x7f")) {
    return ImageKind::ltoir;
  }
  if (bytes.find(".version") != std::string::npos) return ImageKind::ptx;
  return fail(ErrorCode::invalid_argument,
              fmt::format("{}: neither a cubin nor LTO-IR nor PTX", file));
}

Result<Artifact> read_image(const std::string& file) {
  auto bytes = read_input(file);
  if (!bytes) return tl::unexpected(bytes.error());
  const auto kind = kind_of(file, *bytes);
  if (!kind) return tl::unexpected(kind.error());
  Artifact artifact;
  artifact.program = std::filesystem::path(file).filename().string();
  artifact.kind = to_string(*kind);
  artifact.image = std::move(*bytes);
  return artifact;
}

// A file, or an entry of the cache by its key: that one brings its names along.
Result<Artifact> find_input(const Globals& globals, const std::string& word) {
  std::error_code ignored;
  if (std::filesystem::exists(word, ignored)) return read_image(word);
  if (word.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return fail(ErrorCode::io_failed, fmt::format("{}: no such file, and no key", word));
  }
  auto cache = open_for_inspection(globals);
  if (!cache) return tl::unexpected(cache.error());
  auto entry = find_entry(*cache, word);
  if (!entry) return tl::unexpected(entry.error());
  return std::move(entry->artifact);
}

Result<LinkSpec> make_spec(const Globals& globals, const LinkWords& words) {
  const auto kind = parse_image_kind(words.image);
  if (!kind) return tl::unexpected(kind.error());
  auto target = Target::parse(words.arch, *kind);
  if (!target) return tl::unexpected(target.error());
  LinkSpec spec{.name = words.name,
                .inputs = {},
                .target = std::move(*target),
                .options = words.options,
                .kernels = words.kernels};
  for (const auto& word : words.inputs) {
    auto input = find_input(globals, word);
    if (!input) return tl::unexpected(input.error());
    spec.inputs.push_back(std::move(*input));
  }
  return spec;
}

}  // namespace

Result<ExitCode> link(const Globals& globals, const LinkWords& words) {
  if (words.output == "-") {
    return fail(ErrorCode::invalid_argument,
                "-o -: standard output is for the report; name a file, or use kiln extract");
  }
  auto spec = make_spec(globals, words);
  if (!spec) return tl::unexpected(spec.error());
  Keeping keeping;
  auto runtime = open_runtime(globals, keeping);
  if (!runtime) return tl::unexpected(runtime.error());
  const auto artifact = runtime->link(std::move(*spec));
  if (!artifact) return tl::unexpected(artifact.error());
  if (!words.output.empty()) {
    const auto written = write_image(words.output, *artifact);
    if (!written) return tl::unexpected(written.error());
  }
  tell(globals, *artifact, keeping);
  if (!globals.json && !globals.quiet) print_artifacts({*artifact});
  return ExitCode::done;
}

}  // namespace kiln::cli
