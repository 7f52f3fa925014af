#include <string>

#include <kiln/launch.h>
#include <kiln/program.h>

void rms_norm(CUstream stream, const void* x, const void* weight, void* y, unsigned rows);

void scale(CUstream stream, float* x, unsigned width);

kiln::Program attention(std::string any_gpu, std::string hopper);

kiln::Kernel operator_kernel(const std::string& name);

std::string generated_source() {
  return "template <class T> __global__ void add(T* x, T by) { x[threadIdx.x] += by; }";
}

int main() {
  const auto program = attention("// any", "// hopper");
  const auto hopper = program.for_target("sm_90a");
  if (hopper.program().source() != "// hopper") return 1;
  rms_norm(nullptr, nullptr, nullptr, nullptr, 4);
  rms_norm(nullptr, nullptr, nullptr, nullptr, 8);
  for (const auto* name : {"add<float>", "add<int>", "add<float>"}) {
    if (operator_kernel(name).info().expression != name) return 2;
  }
  for (int step = 0; step < 100; ++step) scale(nullptr, nullptr, 4096);
}
