// What a compile costs in a worker beside one in this process: each program both ways, in turns, so that both
// see the same machine. No precompiled headers, which only workers have, and no cache.
//
// after_the_first: in a process that has compiled before. The counters give the seconds of both ways, the ratio
// of the sums, and that of the median program. first_kernel: whole processes of `kiln compile`.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "compile_workloads.h"
#include "kiln/kiln.h"
#include "kiln/manifest.h"
#include "support/scratch.h"
#include "timed_process.h"
#include "timing.h"

namespace kiln::bench {
namespace {

constexpr auto small_kernel =
    R"(extern "C" __global__ void fill(float* x) { x[threadIdx.x] = 1; })";

bool small() { return std::getenv("KILN_BENCH_SMALL") != nullptr; }

/// Ends the run with what is wrong: nothing can be measured.
template <class Outcome>
auto expect(Outcome result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "kiln_worker_bench: %s\n", result.error().message.c_str());
  std::exit(1);
}

/// With 0 workers it compiles in this process.
Runtime open_runtime(unsigned workers) {
  RuntimeOptions options;
  options.cache_disabled = true;
  options.precompiled_max_bytes = 0;
  options.compile_workers = workers;
  options.worker = KILN_WORKER;
  return expect(Runtime::open(std::move(options)));
}

void compile_the_first(Runtime& runtime) {
  const auto program =
      expect(Program::make({.name = "fill.cu", .source = small_kernel, .kernels = {"fill"}}));
  expect(runtime.compile(program, expect(Target::parse("sm_90a"))));
}

double seconds_of(Runtime& runtime, const Program& program, const Target& target) {
  const auto begin = Clock::now();
  expect(runtime.compile(program, target));
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// What programs took, both ways.
class Pairs {
 public:
  void add(double in_process, double in_worker) {
    in_process_ += in_process;
    in_worker_ += in_worker;
    ratios_.add_microseconds(in_worker / in_process);
  }

  void tell(benchmark::State& state) const {
    state.SetIterationTime(in_worker_);
    state.counters["compiles"] = static_cast<double>(ratios_.values().size());
    state.counters["in_process_s"] = in_process_;
    state.counters["in_worker_s"] = in_worker_;
    state.counters["ratio"] = in_worker_ / in_process_;
    state.counters["ratio_p50"] = ratios_.p50();
  }

 private:
  double in_process_ = 0;
  double in_worker_ = 0;
  Times ratios_;
};

void after_the_first(benchmark::State& state, std::string (*manifest)(bool small)) {
  const test::ScratchDirectory scratch;
  const auto file = scratch / "manifest.json";
  test::write_file(file, manifest(small()));
  const auto listing = expect(read_manifest(file));
  for ([[maybe_unused]] auto iteration : state) {
    auto here = open_runtime(0);
    auto there = open_runtime(1);
    compile_the_first(here);
    compile_the_first(there);
    Pairs pairs;
    bool here_first = true;
    for (const auto& listed : listing) {
      const auto program = expect(Program::make(listed.spec));
      for (const auto& target : listed.targets) {
        const auto before = here_first ? seconds_of(here, program, target) : 0;
        const auto in_worker = seconds_of(there, program, target);
        const auto in_process = here_first ? before : seconds_of(here, program, target);
        pairs.add(in_process, in_worker);
        here_first = !here_first;
      }
    }
    pairs.tell(state);
  }
}

/// Seconds of a process that compiles a small kernel into an empty cache.
double time_first_kernel(const test::ScratchDirectory& scratch, const char* workers) {
  const test::ScratchDirectory cache;
  return time_process({"/usr/bin/env", "KILN_WORKER=" KILN_WORKER, "KILN_PCH_MAX_SIZE=0",
                       std::string("KILN_COMPILE_WORKERS=") + workers, KILN_TOOL, "--quiet",
                       "--cache", cache.path().string(), "compile", (scratch / "fill.cu").string(),
                       "--name", "fill", "--arch", "sm_90a", "-o", (scratch / "image").string()});
}

void first_kernel(benchmark::State& state) {
  const test::ScratchDirectory scratch;
  test::write_file(scratch / "fill.cu", small_kernel);
  time_first_kernel(scratch, "0");  // It reads the compiler from the disk.
  Times here;
  Times there;
  for ([[maybe_unused]] auto iteration : state) {
    here.add_microseconds(1e6 * time_first_kernel(scratch, "0"));
    const auto in_worker = time_first_kernel(scratch, "1");
    there.add_microseconds(1e6 * in_worker);
    state.SetIterationTime(in_worker);
  }
  state.counters["in_process_ms"] = 1e-3 * here.p50();
  state.counters["in_worker_ms"] = 1e-3 * there.p50();
  state.counters["more_ms"] = 1e-3 * (there.p50() - here.p50());
}

BENCHMARK(first_kernel)
    ->UseManualTime()
    ->Iterations(small() ? 2 : 25)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(after_the_first, demo, demo_manifest)
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(after_the_first, cub_with_sort, cub_with_sort_manifest)
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kSecond);

}  // namespace
}  // namespace kiln::bench

BENCHMARK_MAIN();
