// A program that compiles CUB where there is no toolkit, or does not: its size is what is compared.

#include <cstdio>

#ifdef WITH_CUB
#include <engine/toolkit_headers.h>
#endif

#include "kiln/kiln.h"

int main() {
  kiln::ProgramSpec spec{.name = "sum.cu", .source = "", .headers = {kiln::device_headers()}};
#ifdef WITH_CUB
  spec.headers.push_back(engine::toolkit_headers());
#endif
  const auto program = kiln::Program::make(std::move(spec));
  std::printf("%s\n", program ? program->name().c_str() : program.error().message.c_str());
}
