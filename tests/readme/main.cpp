#include <string>

#include <kiln/launch.h>
#include <kiln/program.h>

void rms_norm(CUstream stream, const void* x, const void* weight, void* y, unsigned rows);

void scale(CUstream stream, float* x, unsigned width);

kiln::Program attention(std::string any_gpu, std::string hopper);

int main() {
  const auto program = attention("// any", "// hopper");
  const auto hopper = program.for_target(kiln::Target::parse("sm_90a").value());
  if (hopper.program().source() != "// hopper") return 1;
  rms_norm(nullptr, nullptr, nullptr, nullptr, 4);
  rms_norm(nullptr, nullptr, nullptr, nullptr, 8);
  for (int step = 0; step < 100; ++step) scale(nullptr, nullptr, 4096);
}
