#include "verbs/program_words.h"

#include <utility>

#include "kiln/headers.h"
#include "output.h"

namespace kiln::cli {

std::vector<Target> parse_targets(const ProgramWords& words) {
  const auto kind = parse_image_kind(words.image).value();
  std::vector<Target> targets;
  for (const auto& arch : words.archs) targets.push_back(Target::parse(arch, kind).value());
  return targets;
}

Program make_program(const ProgramWords& words) {
  auto source = read_input(words.file);
  std::vector<HeaderSet> headers{device_headers()};
  if (words.standard_headers) headers.push_back(standard_headers());
  const bool from_standard_input = words.file == "-";
  return Program::make({.name = from_standard_input ? "stdin.cu" : words.file.filename().string(),
                        .source = std::move(source),
                        .headers = std::move(headers),
                        .include_dirs = words.include_dirs,
                        .kernels = words.expressions,
                        .options = words.options})
      .value();
}

}  // namespace kiln::cli
