#include "compile_words.h"

#include <utility>

#include <CLI/CLI.hpp>

#include "kiln/headers.h"
#include "output.h"

namespace kiln::cli {

void add_compile_words(CLI::App& verb, CompileWords& words) {
  verb.add_option("FILE", words.file, "CUDA C++ source; - reads standard input")
      ->required()
      ->type_name("");
  verb.add_option("--arch", words.archs, "Architectures, e.g. sm_80,sm_90a; or native")
      ->required()
      ->allow_extra_args(false)
      ->delimiter(',')
      ->type_name("A[,B...]");
  verb.add_option("--name", words.expressions,
                  "Name expression of a kernel wanted, e.g. 'f<float, 4>'; repeatable")
      ->allow_extra_args(false)
      ->type_name("EXPR");
  verb.add_option("-I", words.include_dirs, "Folder to search for headers; repeatable")
      ->allow_extra_args(false)
      ->type_name("DIR");
  verb.add_option("-D", "Macro to define; repeatable")
      ->expected(1, CLI::detail::expected_max_vector_size)
      ->allow_extra_args(false)
      ->type_name("NAME[=VALUE]");
  verb.add_option("--option", "Option for the compiler, e.g. --option=--std=c++20; repeatable")
      ->expected(1, CLI::detail::expected_max_vector_size)
      ->allow_extra_args(false)
      ->type_name("OPTION");
  verb.add_option("--image", words.image,
                  "cubin, ptx, ltoir, optixir or fatbin (one for all architectures)")
      ->capture_default_str()
      ->type_name("KIND");
}

// The compiler reads -D and --option in the order in which they stand.
void read_options(const CLI::App& verb, CompileWords& words) {
  const auto* defines = verb.get_option("-D");
  const auto* others = verb.get_option("--option");
  auto define = defines->results().begin();
  auto other = others->results().begin();
  for (const auto* option : verb.parse_order()) {
    if (option == defines) words.options.push_back("-D" + *define++);
    if (option == others) words.options.push_back(*other++);
  }
}

Result<std::vector<Target>> parse_targets(const CompileWords& words) {
  const auto kind = parse_image_kind(words.image);
  if (!kind) return tl::unexpected(kind.error());
  std::vector<Target> targets;
  for (const auto& arch : words.archs) {
    auto target = Target::parse(arch, *kind);
    if (!target) return tl::unexpected(target.error());
    targets.push_back(std::move(*target));
  }
  return targets;
}

Result<Program> make_program(const CompileWords& words) {
  auto source = read_input(words.file);
  if (!source) return tl::unexpected(source.error());
  const bool from_standard_input = words.file == "-";
  return Program::make({.name = from_standard_input ? "stdin.cu" : words.file.filename().string(),
                        .source = std::move(*source),
                        .headers = {device_headers()},
                        .include_dirs = words.include_dirs,
                        .kernels = words.expressions,
                        .options = words.options});
}

}  // namespace kiln::cli
