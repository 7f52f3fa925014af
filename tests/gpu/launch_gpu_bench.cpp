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

/// What every launch is given.
struct Values {
  float* pointer = nullptr;
  std::int64_t count = 4096;
  float eps = 1e-5F;
};

/// Says why there is nothing to measure, where that is so.
bool has_gpu(benchmark::State& state) {
  const gpu::Machine& machine = gpu::Machine::get();
  if (machine.driver == nullptr) {
    state.SkipWithError(("no GPU: " + machine.reason).c_str());
    return false;
  }
  state.SetLabel(machine.driver->describe_current_device().value().name + ", driver " +
                 std::to_string(machine.driver->version()));
  return true;
}

void settle() { gpu::check(gpu::Machine::get().functions.ctx_synchronize()); }

/// `ours` launches the kernel that it is given with these values, and says whether that went well.
template <class Ours>
void compare_with_plain(benchmark::State& state, const Ours& ours) {
  if (!has_gpu(state)) return;
  const gpu::Functions& functions = gpu::Machine::get().functions;
  const Sides sides = Sides::load(gpu::Machine::get());
  Values given;
  benchmark::DoNotOptimize(given);
  compare(
      state,
      [&] {
        void* values[] = {&given.pointer, &given.pointer, &given.pointer, &given.count, &given.eps};
        return functions.launch_kernel(sides.theirs, 1, 1, 1, 32, 1, 1, 0, nullptr, values,
                                       nullptr) == CUDA_SUCCESS;
      },
      [&] { return ours(sides.ours, given); }, settle);
}

void five_arguments(benchmark::State& state) {
  const LaunchConfig config{.grid = {1}, .block = {32}};
  compare_with_plain(state, [&](const Kernel& kernel, const Values& given) {
    return kernel
        .launch(nullptr, config, given.pointer, given.pointer, given.pointer, given.count,
                given.eps)
        .has_value();
  });
}

void five_arguments_kept(benchmark::State& state) {
  const LaunchConfig config{.grid = {1}, .block = {32}};
  float* const none = nullptr;
  const Args args(none, none, none, std::int64_t{4096}, 1e-5F);
  compare_with_plain(state, [&](const Kernel& kernel, const Values&) {
    return kernel.launch(nullptr, config, args).has_value();
  });
}

void with_an_attribute(benchmark::State& state) {
  if (!has_gpu(state)) return;
  const gpu::Functions& functions = gpu::Machine::get().functions;
  const Sides sides = Sides::load(gpu::Machine::get());
  Values given;
  benchmark::DoNotOptimize(given);
  const LaunchConfig config{.grid = {1}, .block = {32}, .priority = 0};
  compare(
      state,
      [&] {
        void* values[] = {&given.pointer, &given.pointer, &given.pointer, &given.count, &given.eps};
        CUlaunchAttribute attribute{};
        attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
        const CUlaunchConfig plain{1, 1, 1, 32, 1, 1, 0, nullptr, &attribute, 1};
        return functions.launch_kernel_ex(&plain, sides.theirs, values, nullptr) == CUDA_SUCCESS;
      },
      [&] {
        return sides.ours
            .launch(nullptr, config, given.pointer, given.pointer, given.pointer, given.count,
                    given.eps)
            .has_value();
      },
      settle);
}

BENCHMARK(five_arguments)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(five_arguments_kept)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(with_an_attribute)->UseManualTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace kiln::bench

BENCHMARK_MAIN();
