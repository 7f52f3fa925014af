#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kiln/kiln.h"
#include "output.h"
#include "verbs.h"
#include "verbs/artifact_report.h"
#include "verbs/entry_choice.h"
#include "verbs/inspect.h"

namespace kiln::cli {

namespace {

// How the linker's inputs begin; the two that are binary by their magic numbers.
std::optional<ImageKind> kind_of(const std::string& bytes) {
  if (bytes.starts_with("\x7f"
                        "ELF")) {
    return ImageKind::cubin;
  }
  if (bytes.starts_with("\xed"
                        "CN\x7f")) {
    return ImageKind::ltoir;
  }
  // A fatbin, which may hold PTX.
  if (bytes.starts_with("\x50\xed\x55\xba")) return std::nullopt;
  // A text, whose end a C string's may be; a bundle may hold PTX as well.
  const bool is_text = bytes.find('\0') >= bytes.size() - 1;
  if (is_text && bytes.find(".version") != std::string::npos) return ImageKind::ptx;
  return std::nullopt;
}

// Nothing for a file that is none.
std::optional<Artifact> read_image(const std::string& file) {
  auto bytes = read_input(file);
  const auto kind = kind_of(bytes);
  if (!kind) return std::nullopt;
  Artifact artifact;
  artifact.program = std::filesystem::path(file).filename().string();
  artifact.kind = to_string(*kind);
  artifact.image = std::move(bytes);
  return artifact;
}

// A file, or an entry of the cache, which brings its names along: its source may lie here under the same name.
Artifact find_input(const Globals& globals, const std::string& word, bool newest) {
  std::error_code ignored;
  const bool is_there = std::filesystem::exists(word, ignored);
  if (auto image = is_there ? read_image(word) : std::nullopt) return std::move(*image);
  auto opened = open_for_inspection(globals);
  const auto key =
      opened ? choose_entry(*opened, EntryWords{word, newest}) : tl::unexpected(opened.error());
  if (!key && key.error().code == ErrorCode::not_found) {
    if (is_there) {
      refuse(ErrorCode::invalid_argument,
             fmt::format("{}: neither a cubin nor LTO-IR nor PTX, which alone are linked, nor the "
                         "name of an entry: kiln compile --image ltoir makes some",
                         word));
    }
    refuse(ErrorCode::io_failed,
           fmt::format("{}: no such file, and {}", word, key.error().message));
  }
  return opened->proven_artifact(key.value()).value();
}

LinkSpec make_spec(const Globals& globals, const LinkWords& words) {
  if (words.arch.find(',') != std::string::npos) {
    refuse(ErrorCode::invalid_argument,
           fmt::format("--arch {}: an image is linked for one architecture: name one", words.arch));
  }
  const auto kind = value_of("--image", parse_image_kind(words.image));
  LinkSpec spec{.name = words.name,
                .inputs = {},
                .target = value_of("--arch", Target::parse(words.arch, kind)),
                .options = words.options,
                .kernels = words.kernels};
  for (const auto& word : words.inputs)
    spec.inputs.push_back(find_input(globals, word, words.newest));
  return spec;
}

}  // namespace

ExitCode link(const Globals& globals, const LinkWords& words) {
  check_image_output(globals, words.output, words.image);
  check_output_file(words.output, {words.inputs.begin(), words.inputs.end()});
  auto spec = make_spec(globals, words);
  Keeping keeping;
  auto runtime = open_runtime(globals, keeping);
  const auto artifact = runtime.link(std::move(spec)).value();
  write_image(words.output, artifact);
  tell(globals, artifact, keeping);
  if (!globals.json && !globals.quiet && words.output != "-") print_artifacts({artifact});
  return ExitCode::done;
}

}  // namespace kiln::cli
