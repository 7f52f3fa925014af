// What it takes to list a large cache: whole processes of `kiln ls`, `kiln kernels` and `kiln report`, over 10,000 entries
// that hold the demo's images.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench_sample.h"
#include "decoder_block.h"
#include "kiln/kiln.h"
#include "kiln/resources.h"
#include "population.h"
#include "support/scratch.h"
#include "timed_process.h"

namespace kiln::bench {
namespace {

bool is_small() { return std::getenv("KILN_BENCH_SMALL") != nullptr; }

/// Every program of the demo for each of its architectures.
std::vector<Artifact> demo_images() {
  const test::ScratchDirectory scratch;
  auto runtime = Runtime::open({.cache_directory = scratch / "cache"}).value();
  std::vector<Artifact> images;
  for (auto& spec : demo::decoder_block()) {
    const auto program = Program::make(std::move(spec)).value();
    for (const auto* arch : {"sm_80", "sm_90a", "sm_100"}) {
      if (is_small() && !images.empty()) return images;
      images.push_back(runtime.compile(program, Target::parse(arch).value()).value());
    }
  }
  return images;
}

/// An entry for each number, which holds one of the images.
Sample make_listed(const std::vector<Artifact>& images, std::uint64_t number) {
  Sample sample = make_sample(number, 0);
  sample.artifact = images[number % images.size()];
  sample.code = kernel_code(sample.artifact);
  sample.request.program = sample.artifact.program;
  sample.request.arch = sample.artifact.arch;
  return sample;
}

const std::filesystem::path& listed_cache() {
  static const auto cache = [] {
    const auto images = demo_images();
    return make_cache("listed", is_small() ? 100 : 10'000,
                      [&](std::uint64_t number) { return make_listed(images, number); });
  }();
  return cache;
}

void list(benchmark::State& state, const std::string& words) {
  const auto command =
      "exec '" KILN_TOOL "' --cache '" + listed_cache().string() + "' " + words + " >/dev/null";
  for ([[maybe_unused]] auto iteration : state)
    state.SetIterationTime(time_process({"/bin/sh", "-c", command}));
}

void report(benchmark::State& state) {
  const auto page = data_folder() / "report.html";
  for ([[maybe_unused]] auto iteration : state) {
    state.SetIterationTime(time_process(
        {KILN_TOOL, "--quiet", "--cache", listed_cache().string(), "report", "-o", page.string()}));
  }
  state.counters["page_bytes"] = static_cast<double>(std::filesystem::file_size(page));
}

BENCHMARK_CAPTURE(list, ls, "ls")->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(list, ls_of_a_kernel, "ls --kernel 'gemm*'")
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(list, kernels, "kernels --sort spill")
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(list, kernels_as_json, "--json kernels")
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(report)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kiln::bench
