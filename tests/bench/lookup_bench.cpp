// What a look-up that hits costs beside the bare stat() calls that it has to make, for a program that has
// some 600 headers on the disk: in a new process, in one that has looked before, and on a handle that
// was served before. The counters give medians in microseconds and ratios of medians.

#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include "kiln/cache.h"
#include "kiln/kiln.h"
#include "support/scratch.h"
#include "timing.h"

namespace kiln::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view child_flag = "--child";

constexpr const char* source = R"(
#include <cub/block/block_reduce.cuh>
template <class T> __global__ void sum(const T* x, T* y) {
  using Reduce = cub::BlockReduce<T, 256>;
  __shared__ typename Reduce::TempStorage storage;
  const T total = Reduce(storage).Sum(x[threadIdx.x]);
  if (threadIdx.x == 0) *y = total;
}
)";

Program make_program() {
  return Program::make({.name = "sum.cu", .source = source, .kernels = {"sum<float>"}}).value();
}

Target target() { return Target::parse("sm_90a").value(); }

Runtime open_runtime(const fs::path& cache) {
  RuntimeOptions options;
  options.cache_directory = cache;
  return Runtime::open(options).value();
}

/// Ends the run unless the program is served by this layer.
std::size_t hit(Runtime& runtime, const Program& program, Origin origin) {
  const auto artifact = runtime.compile(program, target()).value();
  if (artifact.origin != origin) std::abort();
  return artifact.image.size();
}

/// Each file whose stat() the look-up cannot do without, in its order.
std::vector<std::string> files_to_look_at(const fs::path& directory, const Artifact& artifact,
                                          const std::vector<std::string>& roots) {
  Cache cache = Cache::open(directory, {.access = Cache::Access::read_only}).value();
  const auto entry = cache.entry(artifact.key).value();
  std::vector<std::string> looks;
  std::vector<std::string> found;
  const auto look = [&](std::string path) {
    struct stat status;
    looks.push_back(path);
    const bool there = ::stat(path.c_str(), &status) == 0;
    if (there) found.push_back(std::move(path));
    return there;
  };
  for (const auto& lookup : entry.dependencies.lookups) {
    const auto before = found.size();
    if (lookup.parent < found.size()) {
      look(fs::path(found[lookup.parent]).parent_path().string() + '/' + lookup.spelling);
    }
    for (auto root = roots.begin(); found.size() == before && root != roots.end(); ++root) {
      look(*root + '/' + lookup.spelling);
    }
    if (found.size() == before) found.emplace_back();
  }
  return looks;
}

std::size_t stat_all(const std::vector<std::string>& files) {
  std::size_t there = 0;
  struct stat status;
  for (const auto& file : files) there += ::stat(file.c_str(), &status) == 0 ? 1 : 0;
  return there;
}

/// The cache with the program in it, and what a look-up looks at.
struct Prepared {
  test::ScratchDirectory scratch;
  fs::path cache = scratch / "cache";
  std::vector<std::string> files;

  Prepared() {
    Runtime runtime = open_runtime(cache);
    const auto artifact = runtime.compile(make_program(), target()).value();
    const auto toolkit = fs::path(KILN_CUDA_INCLUDE_DIR);
    files = files_to_look_at(cache, artifact, {(toolkit / "cccl").string(), toolkit.string()});
    std::ofstream list(list_file());
    for (const auto& file : files) list << file << '\n';
  }

  [[nodiscard]] fs::path list_file() const { return scratch / "files"; }
};

const Prepared& prepared() {
  static const Prepared once;
  return once;
}

/// Runs this program anew; gives the one time that it prints.
double child(const std::string& what, const fs::path& argument) {
  const auto self = fs::read_symlink("/proc/self/exe").string();
  const auto command = "exec '" + self + "' " + std::string(child_flag) + ' ' + what + " '" +
                       argument.string() + '\'';
  std::FILE* output = ::popen(command.c_str(), "r");
  double time = 0;
  if (output == nullptr || std::fscanf(output, "%lf", &time) != 1 || ::pclose(output) != 0)
    std::abort();
  return time;
}

void report(benchmark::State& state, const Times& times, const Times& stats) {
  state.counters["hit_p50"] = times.p50();
  state.counters["stats_p50"] = stats.p50();
  state.counters["ratio_p50"] = times.p50() / stats.p50();
  state.counters["files"] = static_cast<double>(prepared().files.size());
}

void in_a_new_process(benchmark::State& state) {
  Times hits;
  Times stats;
  for ([[maybe_unused]] auto iteration : state) {
    hits.add_microseconds(child("hit", prepared().cache));
    stats.add_microseconds(child("stat", prepared().list_file()));
    state.SetIterationTime(1e-6 * hits.values().back());
  }
  report(state, hits, stats);
}

void on_a_new_handle(benchmark::State& state) {
  Runtime runtime = open_runtime(prepared().cache);
  hit(runtime, make_program(), Origin::local);
  Times hits;
  Times stats;
  for ([[maybe_unused]] auto iteration : state) {
    const auto program = make_program();
    hits.measure([&] { return hit(runtime, program, Origin::memory); });
    stats.measure([&] { return stat_all(prepared().files); });
    state.SetIterationTime(1e-6 * hits.values().back());
  }
  report(state, hits, stats);
}

void on_a_handle_served_before(benchmark::State& state) {
  Runtime runtime = open_runtime(prepared().cache);
  const auto program = make_program();
  const auto wanted = target();
  hit(runtime, program, Origin::local);
  for ([[maybe_unused]] auto iteration : state) {
    benchmark::DoNotOptimize(runtime.compile(program, wanted));
  }
}

BENCHMARK(in_a_new_process)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(on_a_new_handle)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(on_a_handle_served_before)->Unit(benchmark::kNanosecond);

/// Whether this process is a child; it then has done its work.
bool ran_as_child(int count, char** arguments) {
  if (count != 4 || arguments[1] != child_flag) return false;
  Times times;
  if (arguments[2] == std::string_view("hit")) {
    const auto program = make_program();
    times.measure([&] {
      Runtime runtime = open_runtime(arguments[3]);
      return hit(runtime, program, Origin::local);
    });
  } else {
    std::vector<std::string> files;
    std::ifstream list(arguments[3]);
    for (std::string line; std::getline(list, line);) files.push_back(line);
    times.measure([&] { return stat_all(files); });
  }
  std::printf("%.3f\n", times.values().front());
  return true;
}

}  // namespace
}  // namespace kiln::bench

int main(int count, char** arguments) {
  if (kiln::bench::ran_as_child(count, arguments)) return 0;
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
