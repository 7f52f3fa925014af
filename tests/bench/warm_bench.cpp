// The warm start of an engine: 1,000 kernels with embedded headers, from opening the runtime to the last image, in a new
// process; alone, with a prefetch() of all of them, both of compressed and of plain images, and beside a process that only
// reads the same images from files.
//
//   kiln_warm_bench                        all of it, as a benchmark
//   kiln_warm_bench --make DIR             makes DIR/compressed and DIR/plain, which are caches, and DIR/files/NUMBER
//   kiln_warm_bench --child WAY DIR        one start: prints its milliseconds and the images' bytes; WAY as below, DIR one of these

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "kiln/cache.h"
#include "kiln/kiln.h"
#include "support/scratch.h"
#include "timing.h"

namespace kiln::bench {
namespace {

namespace fs = std::filesystem;

std::size_t kernel_count() { return std::getenv("KILN_BENCH_SMALL") != nullptr ? 10 : 1000; }

Target target() { return Target::parse("sm_90a").value(); }

const HeaderSet& headers() {
  static const HeaderSet set = HeaderSet::from_texts(
      {{"engine/vector.cuh", "#pragma once\n" + std::string(20'000, '/') + "\nstruct Vector {};\n"},
       {"engine/math.cuh", "#pragma once\n#include \"engine/vector.cuh\"\n" +
                               std::string(20'000, '/') + "\nstruct Math {};\n"}});
  return set;
}

Program program(std::size_t number) {
  const auto name = "op" + std::to_string(number);
  const auto source = "#include \"engine/math.cuh\"\n" + std::string(4'000, '/') +
                      "\nextern \"C\" __global__ void " + name + "(float* x) { *x = 1; }\n";
  return Program::make({.name = name + ".cu",
                        .source = source,
                        .headers = {headers()},
                        .kernels = {name},
                        .toolkit_headers = false})
      .value();
}

RuntimeOptions options_for(const fs::path& cache) {
  RuntimeOptions options;
  options.cache_directory = cache;
  options.log_level = LogLevel::off;
  return options;
}

/// Images of sizes that engines have, 5 to 400 KB: of sums over ever more types and sizes.
std::vector<std::string> real_images() {
  const std::string source = R"(
#include <cub/block/block_radix_sort.cuh>
template <class T, int threads, int items> __global__ void sorted(T* keys) {
  using Sort = cub::BlockRadixSort<T, threads, items>;
  __shared__ typename Sort::TempStorage storage;
  T mine[items];
  for (int item = 0; item < items; ++item) mine[item] = keys[threadIdx.x * items + item];
  Sort(storage).Sort(mine);
  for (int item = 0; item < items; ++item) keys[threadIdx.x * items + item] = mine[item];
}
template <class T> __global__ void filled(T* out, T value) { out[threadIdx.x] = value; }
)";
  const std::vector<std::vector<std::string>> families{
      {"filled<float>"},
      {"sorted<unsigned, 128, 1>"},
      {"sorted<unsigned, 128, 4>"},
      {"sorted<unsigned long long, 128, 8>"},
      {"sorted<unsigned, 128, 4>", "sorted<float, 128, 4>", "sorted<int, 256, 4>"},
      {"sorted<double, 256, 12>", "sorted<double, 128, 16>", "sorted<long long, 64, 16>"}};
  test::ScratchDirectory scratch;
  auto runtime = Runtime::open(options_for(scratch / "cache")).value();
  std::vector<std::string> images;
  for (const auto& kernels : families) {
    const auto made = Program::make({.name = "image.cu", .source = source, .kernels = kernels});
    images.emplace_back(runtime.compile(made.value(), target()).value().image.string());
  }
  return images;
}

void compile_all(const fs::path& directory) {
  auto runtime = Runtime::open(options_for(directory)).value();
  std::vector<PrefetchItem> items;
  for (std::size_t number = 0; number < kernel_count(); ++number)
    items.push_back({program(number), target()});
  if (!runtime.prefetch(items).failures.empty()) std::abort();
}

/// Gives each entry one of these images in the place of its own.
void replace_images(Cache cache, const std::vector<std::string>& images) {
  std::size_t number = 0;
  const auto all = cache.list().value();
  for (const auto& summary : all) {
    auto entry = cache.entry(summary.key).value();
    entry.artifact.image = Bytes(images[number++ % images.size()]);
    cache
        .put({.request = entry.request,
              .dependencies = entry.dependencies,
              .toolchain = entry.toolchain,
              .artifact = entry.artifact,
              .texts = {}})
        .value();
  }
}

/// Compiles the programs, which are small; their images are then real ones.
void make(const fs::path& folder) {
  const auto images = real_images();
  compile_all(folder / "compressed");
  fs::copy(folder / "compressed", folder / "plain");
  replace_images(Cache::open(folder / "compressed").value(), images);
  replace_images(Cache::open(folder / "plain", {.plain_images = true}).value(), images);
  fs::create_directories(folder / "files");
  for (std::size_t number = 0; number < kernel_count(); ++number) {
    std::ofstream(folder / "files" / std::to_string(number), std::ios::binary)
        << images[number % images.size()];
  }
}

struct Start {
  double ms = 0;
  std::size_t bytes = 0;
};

double milliseconds_since(Clock::time_point began) {
  return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
}

Artifact served(Runtime& runtime, const Program& program) {
  auto artifact = runtime.compile(program, target()).value();
  if (artifact.origin == Origin::compiled) std::abort();
  return artifact;
}

/// The programs are the engine's own, and made before the clock begins; the runtime ends behind it. What is served is
/// kept to the end, since the modules of an engine are, and so it is by those who are measured beside it.
Start start_kiln(const fs::path& directory, const std::vector<Program>& programs, bool ahead) {
  const auto began = Clock::now();
  auto runtime = Runtime::open(options_for(directory)).value();
  if (ahead) {
    std::vector<PrefetchItem> items;
    for (const auto& each : programs) items.push_back({each, target()});
    if (!runtime.prefetch(items).failures.empty()) std::abort();
  }
  std::vector<Artifact> kept;
  for (const auto& each : programs) kept.push_back(served(runtime, each));
  const auto ms = milliseconds_since(began);
  std::size_t bytes = 0;
  for (const auto& artifact : kept) bytes += artifact.image.size();
  return {ms, bytes};
}

Start read_files(const fs::path& folder, const std::vector<Program>& programs) {
  const auto began = Clock::now();
  std::vector<std::string> kept;
  std::size_t bytes = 0;
  for (std::size_t number = 0; number < programs.size(); ++number) {
    const auto path = folder / std::to_string(number);
    std::string& image = kept.emplace_back(fs::file_size(path), '\0');
    std::ifstream(path, std::ios::binary).read(image.data(), static_cast<long>(image.size()));
    bytes += image.size();
  }
  return {milliseconds_since(began), bytes};
}

int run_child(const std::string& way, const fs::path& folder) {
  std::vector<Program> programs;
  for (std::size_t number = 0; number < kernel_count(); ++number)
    programs.push_back(program(number));
  const auto start =
      way == "read" ? read_files(folder, programs) : start_kiln(folder, programs, way == "ahead");
  std::printf("%f %zu\n", start.ms, start.bytes);
  return 0;
}

Start child(const std::string& way, const fs::path& folder) {
  const auto self = fs::read_symlink("/proc/self/exe").string();
  const auto command = "exec '" + self + "' --child " + way + " '" + folder.string() + '\'';
  std::FILE* output = ::popen(command.c_str(), "r");
  Start start;
  if (output == nullptr || std::fscanf(output, "%lf %zu", &start.ms, &start.bytes) != 2 ||
      ::pclose(output) != 0)
    std::abort();
  return start;
}

const fs::path& made_folder() {
  static const test::ScratchDirectory scratch;
  static const bool made = (make(scratch.path()), true);
  if (!made) std::abort();
  return scratch.path();
}

constexpr std::pair<const char*, const char*> starts[] = {{"one", "compressed"},
                                                          {"ahead", "compressed"},
                                                          {"one", "plain"},
                                                          {"ahead", "plain"},
                                                          {"read", "files"}};

/// In turns, so that a busy machine disturbs all alike.
void warm_start(benchmark::State& state) {
  std::map<std::string, Times> times;
  for ([[maybe_unused]] auto iteration : state) {
    for (const auto& [way, directory] : starts) {
      const auto took = child(way, made_folder() / directory);
      times[std::string(directory) + '_' + way].add_microseconds(1e3 * took.ms);
    }
  }
  for (const auto& [start, all] : times) state.counters[start + "_ms"] = all.p50() / 1e3;
}

BENCHMARK(warm_start)->Iterations(7)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kiln::bench

int main(int count, char** words) {
  const std::vector<std::string> all(words + 1, words + count);
  if (all.size() == 2 && all[0] == "--make") {
    kiln::bench::make(all[1]);
    return 0;
  }
  if (all.size() == 3 && all[0] == "--child") return kiln::bench::run_child(all[1], all[2]);
  benchmark::Initialize(&count, words);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
