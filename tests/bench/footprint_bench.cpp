// What kiln costs who links it: bytes of its libraries, stripped, and memory of a process that serves hits,
// in kilobytes above one that does nothing.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include "kiln/kiln.h"
#include "resident.h"
#include "support/scratch.h"

namespace kiln::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view serve_flag = "--serve";
constexpr int programs = 24;

Program make_program(int number) {
  const auto name = std::to_string(number);
  return Program::make(
             {.name = "scale" + name + ".cu",
              .source =
                  "#include <kiln/vec.cuh>\n__global__ void scale(float* x) { x[threadIdx.x] *= " +
                  name + "; }\n",
              .headers = {device_headers()},
              .kernels = {"scale"}})
      .value();
}

/// How many programs came from somewhere else than `origin`.
int serve(const fs::path& cache, Origin origin, std::vector<Artifact>& held) {
  RuntimeOptions options;
  options.cache_directory = cache;
  auto runtime = Runtime::open(options).value();
  int others = 0;
  for (int number = 0; number < programs; ++number) {
    held.push_back(runtime.compile(make_program(number), Target::parse("sm_90a").value()).value());
    others += held.back().origin == origin ? 0 : 1;
  }
  return others;
}

/// The number that a command prints.
double number_from(const std::string& command) {
  std::FILE* output = ::popen(("exec " + command).c_str(), "r");
  double number = 0;
  if (output == nullptr || std::fscanf(output, "%lf", &number) != 1 || ::pclose(output) != 0)
    std::abort();
  return number;
}

std::string quoted(const fs::path& path) { return '\'' + path.string() + '\''; }

void memory_of_hits(benchmark::State& state) {
  const test::ScratchDirectory scratch;
  const auto cache = scratch / "cache";
  std::vector<Artifact> held;
  if (serve(cache, Origin::compiled, held) != 0) std::abort();
  const auto self = fs::read_symlink("/proc/self/exe");
  double empty = 0;
  double serving = 0;
  for ([[maybe_unused]] auto iteration : state) {
    empty = number_from(quoted(KILN_EMPTY_PROCESS));
    serving = number_from(quoted(self) + ' ' + std::string(serve_flag) + ' ' + quoted(cache));
  }
  state.counters["empty_kb"] = empty;
  state.counters["serving_kb"] = serving;
  state.counters["above_empty_kb"] = serving - empty;
}

double stripped_bytes(const fs::path& library) {
  const test::ScratchDirectory scratch;
  const auto stripped = scratch / "stripped";
  const auto command =
      quoted(KILN_STRIP) + " -o " + quoted(stripped) + ' ' + quoted(fs::canonical(library));
  if (std::system(command.c_str()) != 0) std::abort();
  return static_cast<double>(fs::file_size(stripped));
}

double bytes_of(const HeaderSet& set) {
  double sum = 0;
  for (const auto& header : set.headers()) sum += static_cast<double>(header.text().size());
  return sum;
}

void bytes_of_libraries(benchmark::State& state) {
  for ([[maybe_unused]] auto iteration : state) {
    const auto embedded = bytes_of(device_headers()) + bytes_of(standard_headers());
    state.counters["libkiln"] = stripped_bytes(KILN_LIBRARY);
    state.counters["embedded_sets"] = embedded;
    state.counters["libkiln_without"] = stripped_bytes(KILN_LIBRARY) - embedded;
    state.counters["libkiln_cache"] = stripped_bytes(KILN_CACHE_LIBRARY);
  }
}

BENCHMARK(memory_of_hits)->Iterations(5)->Unit(benchmark::kMillisecond);
BENCHMARK(bytes_of_libraries)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kiln::bench

int main(int count, char** arguments) {
  using namespace kiln::bench;
  if (count == 3 && arguments[1] == serve_flag) {
    std::vector<kiln::Artifact> held;
    if (serve(arguments[2], kiln::Origin::local, held) != 0) return 1;
    std::printf("%ld\n", resident_kilobytes());
    return 0;
  }
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
