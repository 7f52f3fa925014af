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
ImageKind kind_of(const std::string& file, const std::string& bytes) {
  if (bytes.starts_with("\x7f"
                        "ELF")) {
    return ImageKind::cubin;
  }
  if (bytes.starts_with("\xed"
                        "CN\x7f")) {
    return ImageKind::ltoir;
  }
  if (bytes.find(".version") != std::string::npos) return ImageKind::ptx;
  refuse(ErrorCode::invalid_argument, fmt::format("{}: neither a cubin nor LTO-IR nor PTX", file));
}

Artifact read_image(const std::string& file) {
  auto bytes = read_input(file);
  Artifact artifact;
  artifact.program = std::filesystem::path(file).filename().string();
  artifact.kind = to_string(kind_of(file, bytes));
  artifact.image = std::move(bytes);
  return artifact;
}

// A file, or an entry of the cache by its key: that one brings its names along.
Artifact find_input(const Globals& globals, const std::string& word) {
  std::error_code ignored;
  if (std::filesystem::exists(word, ignored)) return read_image(word);
  if (word.find_first_not_of("0123456789abcdef") != std::string::npos) {
    refuse(ErrorCode::io_failed, fmt::format("{}: no such file, and no key", word));
  }
  auto cache = open_for_inspection(globals).value();
  return find_entry(cache, word).artifact;
}

LinkSpec make_spec(const Globals& globals, const LinkWords& words) {
  const auto kind = parse_image_kind(words.image).value();
  LinkSpec spec{.name = words.name,
                .inputs = {},
                .target = Target::parse(words.arch, kind).value(),
                .options = words.options,
                .kernels = words.kernels};
  for (const auto& word : words.inputs) spec.inputs.push_back(find_input(globals, word));
  return spec;
}

}  // namespace

ExitCode link(const Globals& globals, const LinkWords& words) {
  check_is_file(words.output);
  auto spec = make_spec(globals, words);
  Keeping keeping;
  auto runtime = open_runtime(globals, keeping);
  const auto artifact = runtime.link(std::move(spec)).value();
  write_image(words.output, artifact);
  tell(globals, artifact, keeping);
  if (!globals.json && !globals.quiet) print_artifacts({artifact});
  return ExitCode::done;
}

}  // namespace kiln::cli
