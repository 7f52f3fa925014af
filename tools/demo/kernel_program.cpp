#include "kernel_program.h"

#include <utility>

#include "demo/engine_headers.h"
#include "demo/kernel_sources.h"

namespace demo {

kiln::ProgramSpec kernel_program(std::string_view file, std::vector<std::string> kernels) {
  return {.name = std::string(file),
          .source = std::string(kernel_sources().find(file)->text()),
          .headers = {kiln::device_headers(), engine_headers()},
          .kernels = std::move(kernels),
          .options = {"--std=c++17"}};
}

}  // namespace demo
