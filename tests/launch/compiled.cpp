#include "compiled.h"

#include <stdexcept>
#include <utility>

#include "kiln/runtime.h"

kiln::Program make_program(const std::string& source, std::vector<std::string> kernels) {
  return kiln::Program::make({.name = "test.cu",
                              .source = source,
                              .kernels = std::move(kernels),
                              .options = {"--std=c++20"}})
      .value();
}

kiln::Artifact compile_for(const kiln::Program& program, const std::string& arch) {
  static auto runtime =
      kiln::Runtime::open({.cache_disabled = true, .log_level = kiln::LogLevel::off}).value();
  auto artifact = runtime.compile(program, kiln::Target::parse(arch).value());
  if (!artifact) throw std::runtime_error(artifact.error().message + "\n" + artifact.error().log);
  return std::move(*artifact);
}
