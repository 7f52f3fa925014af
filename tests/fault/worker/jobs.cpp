#include "jobs.h"

#include <string>
#include <utility>

#include <fmt/format.h>

namespace kiln::test {

namespace {

CompileJob job_of(const std::string& name, std::string source) {
  CompileJob job;
  job.program = name;
  job.source = std::move(source);
  job.expressions = {"kernel"};
  job.arch = "sm_80";
  job.seed = digest_of(name);
  return job;
}

}  // namespace

CompileJob plain_job(int number) {
  return job_of(fmt::format("plain_{}.cu", number),
                fmt::format("__global__ void kernel(int* out) {{ *out = {}; }}", number));
}

CompileJob crashing_job() {
  auto job = job_of("crashing.cu", "__global__ void kernel(int* out) { *out = 1; }");
  job.options = {"-fdevice-time-trace=/nonexistent/folder/trace"};
  return job;
}

CompileJob spinning_job() {
  std::string source = "#define A0 +1\n";
  for (int level = 1; level <= 60; ++level) {
    source += fmt::format("#define A{} A{} A{}\n", level, level - 1, level - 1);
  }
  return job_of("spinning.cu", source + "#if 0 A60\n#endif\n__global__ void kernel() {}\n");
}

CompileJob devouring_job() {
  return job_of("devouring.cu", R"(
template <int N, int M> struct T {
  static constexpr long value = T<N - 1, M * 2>::value + T<N - 1, M * 2 + 1>::value;
};
template <int M> struct T<0, M> { static constexpr long value = 1; };
__global__ void kernel(long* out) { *out = T<28, 0>::value; }
)");
}

CompileJob devouring_back_end_job() {
  return job_of("devouring.cu", R"(
__device__ char huge[1u << 26] = {1};
__global__ void kernel(float* x) { x[0] = huge[3]; }
)");
}

CompileJob optimising_job() {
  return job_of("optimising.cu", R"(
__global__ void kernel(float* values) {
  float a[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) a[i] = values[i];
#pragma unroll
  for (int round = 0; round < 8000; ++round) {
#pragma unroll
    for (int i = 0; i < 64; ++i) a[i] = a[(i * 7 + round) & 63] * a[i] + a[(i + round) & 63];
  }
#pragma unroll
  for (int i = 0; i < 64; ++i) values[i] = a[i];
}
)");
}

}  // namespace kiln::test
