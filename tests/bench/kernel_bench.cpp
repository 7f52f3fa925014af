// What Runtime::kernel() costs on a handle that was resolved, what a look-up by an engine's own name costs, and what launches of many threads take while
// another one compiles beside what they take when none does; with a driver that does nothing.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "kiln/kiln.h"
#include "timing.h"

namespace kiln::bench {
namespace {

constexpr int launching_threads = 16;
constexpr auto phase = std::chrono::milliseconds(1500);

Runtime open_runtime() {
  RuntimeOptions options;
  options.cache_disabled = true;
  options.cuda_driver = KILN_IDLE_CUDA;
  options.log_level = LogLevel::off;
  return Runtime::open(options).value();
}

Program make_program(const std::string& extra = {}) {
  return Program::make(
             {.name = "fill.cu",
              .source = "template <class T> __global__ void fill(T* out, T a, T b, T c, int n) "
                        "{ out[n] = a + b + c; }" +
                        extra,
              .kernels = {"fill<float>"}})
      .value();
}

void a_resolved_kernel(benchmark::State& state) {
  auto runtime = open_runtime();
  const auto program = make_program();
  if (!runtime.kernel(program, "fill<float>")) std::abort();
  for ([[maybe_unused]] auto iteration : state) {
    benchmark::DoNotOptimize(runtime.kernel(program, "fill<float>"));
  }
}

std::string name_of(std::uint64_t number) { return "rms_norm.float16." + std::to_string(number); }

/// Calls `find` for one of so many names after the other while so many threads set further ones.
template <class Find>
void finding(benchmark::State& state, const Find& find) {
  const auto names = static_cast<std::uint64_t>(state.range(0));
  auto runtime = open_runtime();
  const auto kernel = runtime.kernel(make_program(), "fill<float>").value();
  NamedKernels kernels;
  std::vector<std::string> all;
  for (std::uint64_t number = 0; number < names; ++number) {
    all.push_back(name_of(number));
    kernels.set(all.back(), kernel);
    kernels.set(number, kernel);
  }
  std::atomic<bool> over = false;
  std::vector<std::thread> setting;
  for (int thread = 0; thread < state.range(1); ++thread) {
    setting.emplace_back([&, thread] {
      for (auto number = names + thread; !over; number += 8) {
        kernels.set(name_of(number), kernel);
        kernels.set(number, kernel);
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    });
  }
  std::uint64_t number = 0;
  for ([[maybe_unused]] auto iteration : state) {
    benchmark::DoNotOptimize(find(kernels, all[number], number));
    number = number + 1 == names ? 0 : number + 1;
  }
  over = true;
  for (auto& thread : setting) thread.join();
}

void a_named_kernel(benchmark::State& state) {
  finding(state, [](const NamedKernels& kernels, const std::string& name, std::uint64_t) {
    return kernels.find(name);
  });
}

void a_numbered_kernel(benchmark::State& state) {
  finding(state, [](const NamedKernels& kernels, const std::string&, std::uint64_t number) {
    return kernels.find(number);
  });
}

/// What one thread's launches take, one by one, until the time is over. Microseconds.
Times launch_until_over(Runtime& runtime, const Program& program, const std::atomic<bool>& over) {
  Times times;
  float* const out = nullptr;
  while (!over.load(std::memory_order_relaxed)) {
    times.measure([&] {
      const auto kernel = runtime.kernel(program, "fill<float>");
      return kernel && kernel->launch(nullptr, {}, out, 1.0F, 2.0F, 3.0F, 4);
    });
  }
  return times;
}

/// The p99 of all threads' launches in one phase; with a compile after the other beside them, or none.
double p99_of_a_phase(Runtime& runtime, const Program& program, bool compiling) {
  std::atomic<bool> over = false;
  std::vector<Times> all(launching_threads);
  std::vector<std::thread> threads;
  for (auto& times : all) {
    threads.emplace_back([&] { times = launch_until_over(runtime, program, over); });
  }
  std::thread compiler([&] {
    static int made = 0;
    while (compiling && !over) {
      const auto other = make_program(" // " + std::to_string(++made));
      if (!runtime.compile(other, Target::parse("sm_90a").value())) std::abort();
    }
  });
  std::this_thread::sleep_for(phase);
  over = true;
  for (auto& thread : threads) thread.join();
  compiler.join();
  Times together;
  for (const auto& times : all) {
    for (const auto time : times.values()) together.add_microseconds(time);
  }
  return together.p99();
}

void launches_beside_a_compile(benchmark::State& state) {
  auto runtime = open_runtime();
  const auto program = make_program();
  if (!runtime.kernel(program, "fill<float>")) std::abort();
  double quiet = 0;
  double beside = 0;
  for ([[maybe_unused]] auto iteration : state) {
    quiet = p99_of_a_phase(runtime, program, false);
    beside = p99_of_a_phase(runtime, program, true);
    state.SetIterationTime(1e-6 * beside);
  }
  state.counters["quiet_p99_ns"] = 1e3 * quiet;
  state.counters["beside_p99_ns"] = 1e3 * beside;
  state.counters["ratio_p99"] = beside / quiet;
}

BENCHMARK(a_resolved_kernel);
BENCHMARK(a_named_kernel)->ArgNames({"names", "setting"})->ArgsProduct({{1'000, 10'000}, {0, 8}});
BENCHMARK(a_numbered_kernel)
    ->ArgNames({"names", "setting"})
    ->ArgsProduct({{1'000, 10'000}, {0, 8}});
BENCHMARK(launches_beside_a_compile)->UseManualTime()->Iterations(1)->Unit(benchmark::kNanosecond);

}  // namespace
}  // namespace kiln::bench

BENCHMARK_MAIN();
