// What a launch costs the host on a real driver: kiln's beside cuLaunchKernel called by hand, of one
// image, in turns. Counters as in bench/launch_bench.cpp. Without a GPU it says why and measures nothing.

#include <cstdint>
#include <string>

#include <benchmark/benchmark.h>

#include "bench/launch_comparison.h"
#include "gpu/gpu.h"

namespace kiln::bench {
namespace {

constexpr const char* source =
    "extern \"C\" __global__ void kernel(float*, float*, float*, long long, float) {}";

/// The same image for both: what the driver loads for kiln, and once more for launches by hand.
struct Sides {
  Runtime runtime;
  Kernel ours;
  CUfunction theirs = nullptr;

  static Sides load(const gpu::Machine& machine) {
    const auto device = machine.driver->describe_current_device().value();
    if (auto current = machine.driver->ensure_context(device.handle); !current) current.value();
    auto runtime = Runtime::open({.cache_disabled = true, .log_level = LogLevel::off}).value();
    const auto program =
        Program::make({.name = "kernel.cu", .source = source, .kernels = {"kernel"}}).value();
    const auto artifact = runtime.compile(program, Target::parse("native").value()).value();
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    gpu::check(machine.functions.library_load(&library, artifact.image.data(), nullptr, nullptr, 0,
                                              nullptr, nullptr, 0));
    gpu::check(machine.functions.library_get_kernel(&kernel, library, "kernel"));
    const Kernel ours = runtime.kernel(program, "kernel").value();
    return {std::move(runtime), ours, reinterpret_cast<CUfunction>(kernel)};
  }
};

void five_arguments(benchmark::State& state) {
  const gpu::Machine& machine = gpu::Machine::get();
  if (machine.driver == nullptr) {
    state.SkipWithError(("no GPU: " + machine.reason).c_str());
    return;
  }
  const Sides sides = Sides::load(machine);
  state.SetLabel(machine.driver->describe_current_device().value().name + ", driver " +
                 std::to_string(machine.driver->version()));
  float* pointer = nullptr;
  std::int64_t count = 4096;
  float eps = 1e-5F;
  benchmark::DoNotOptimize(pointer);
  benchmark::DoNotOptimize(count);
  benchmark::DoNotOptimize(eps);
  const LaunchConfig config{.grid = {1}, .block = {32}};
  compare(
      state,
      [&] {
        void* values[] = {&pointer, &pointer, &pointer, &count, &eps};
        return machine.functions.launch_kernel(sides.theirs, 1, 1, 1, 32, 1, 1, 0, nullptr, values,
                                               nullptr) == CUDA_SUCCESS;
      },
      [&] {
        return sides.ours.launch(nullptr, config, pointer, pointer, pointer, count, eps)
            .has_value();
      },
      [&] { gpu::check(machine.functions.ctx_synchronize()); });
}

BENCHMARK(five_arguments)->UseManualTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace kiln::bench

BENCHMARK_MAIN();
