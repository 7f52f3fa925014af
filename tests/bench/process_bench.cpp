// What a hit of a whole `kiln compile` process costs beside the compile it replaces, in one run.
//
// Each iteration compiles into an empty cache, then asks again in new processes. The time that is
// reported is a hit's; the counters give the median compile and the ratio of the medians.

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "support/scratch.h"
#include "timed_process.h"

namespace {

using kiln::bench::time_process;
using kiln::test::ScratchDirectory;
using kiln::test::write_file;

constexpr int hits_per_compile = 10;

constexpr const char* half_source = R"(
#include <cuda_fp16.h>
template <class T> __global__ void scale(const T* x, T* y, T factor) { y[threadIdx.x] = x[threadIdx.x] * factor; }
)";
constexpr const char* cub_source = R"(
#include <cub/block/block_reduce.cuh>
template <class T> __global__ void sum(const T* x, T* y) {
  using Reduce = cub::BlockReduce<T, 256>;
  __shared__ typename Reduce::TempStorage storage;
  const T total = Reduce(storage).Sum(x[threadIdx.x]);
  if (threadIdx.x == 0) *y = total;
}
)";

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

void hit_against_compile(benchmark::State& state, const char* source, const char* expression) {
  std::vector<double> compiles;
  std::vector<double> hits;
  for ([[maybe_unused]] auto iteration : state) {
    const ScratchDirectory scratch;
    const auto file = scratch / "kernel.cu";
    write_file(file, source);
    const std::vector<std::string> command{
        KILN_TOOL,  "--cache", (scratch / "cache").string(),
        "--quiet",  "compile", file.string(),
        "--arch",   "sm_90a",  "--name",
        expression, "-o",      (scratch / "image.cubin").string()};
    compiles.push_back(time_process(command));
    double sum = 0;
    for (int hit = 0; hit < hits_per_compile; ++hit) {
      hits.push_back(time_process(command));
      sum += hits.back();
    }
    state.SetIterationTime(sum / hits_per_compile);
  }
  state.counters["compile_ms"] = 1e3 * median(compiles);
  state.counters["hit_ms"] = 1e3 * median(hits);
  state.counters["times_faster"] = median(compiles) / median(hits);
}

BENCHMARK_CAPTURE(hit_against_compile, cuda_fp16, half_source, "scale<__half>")
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(hit_against_compile, cub_block_reduce, cub_source, "sum<float>")
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
