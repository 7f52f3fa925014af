// What it costs to have many programs in an empty cache: `kiln prewarm` with one worker and with two,
// beside the same calls of NVRTC made one after the other in one process. The time that is reported is that
// of two workers; the counters give all of them in seconds, and their ratios.
//
// What NVRTC takes is measured from its first call to its last, what kiln takes from the start of its
// process to its end.

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>

#include "compile_workloads.h"
#include "plain_compiles.h"
#include "support/scratch.h"
#include "timing.h"

namespace kiln::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view plain_flag = "--plain";

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "kiln_compile_bench: %s\n", what.c_str());
  std::exit(1);
}

std::string quoted(const fs::path& path) { return '\'' + path.string() + '\''; }

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Of all processes that have been waited for.
double processor_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// What a process printed, one document per line; ends the run if it failed.
std::vector<json> documents_of(const std::string& command) {
  std::FILE* output = ::popen(("exec " + command).c_str(), "r");
  if (output == nullptr) give_up("cannot start " + command);
  std::string text;
  std::array<char, 4096> bytes;
  while (const auto size = std::fread(bytes.data(), 1, bytes.size(), output)) {
    text.append(bytes.data(), size);
  }
  if (::pclose(output) != 0) give_up("failed: " + command);
  std::vector<json> documents;
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    documents.push_back(json::parse(text.substr(begin, end - begin)));
  }
  return documents;
}

/// What one way of compiling a workload came to.
struct Outcome {
  double seconds = 0;
  double processor_seconds = 0;
  double precompiled = 0;
  Symbols symbols;
};

Outcome compile_plainly(const fs::path& manifest) {
  const auto self = fs::read_symlink("/proc/self/exe");
  const auto documents =
      documents_of(quoted(self) + ' ' + std::string(plain_flag) + ' ' + quoted(manifest));
  const auto& document = documents.at(0);
  return {.seconds = document.at("seconds"), .symbols = document.at("symbols").get<Symbols>()};
}

Outcome prewarm(const fs::path& manifest, int jobs) {
  const test::ScratchDirectory scratch;
  const auto command = quoted(KILN_TOOL) + " --json --cache " + quoted(scratch / "cache") +
                       " prewarm --jobs " + std::to_string(jobs) + ' ' + quoted(manifest);
  Outcome outcome;
  const auto processor_before = processor_seconds();
  const auto begin = Clock::now();
  const auto documents = documents_of(command);
  outcome.seconds = seconds_since(begin);
  outcome.processor_seconds = processor_seconds() - processor_before;
  for (const auto& document : documents) {
    if (document.at("event") == "finished") outcome.precompiled = document.at("precompiled");
    if (document.at("event") != "item") continue;
    if (document.at("origin") != "compiled") give_up("the cache was not empty");
    for (const auto& kernel : document.at("kernels")) {
      outcome.symbols.insert({document.at("arch").get<std::string>(),
                              kernel.at("expression").get<std::string>(),
                              kernel.at("symbol").get<std::string>()});
    }
  }
  return outcome;
}

void prewarm_against_plain(benchmark::State& state, std::string (*manifest)(bool small)) {
  const test::ScratchDirectory scratch;
  const auto file = scratch / "manifest.json";
  test::write_file(file, manifest(std::getenv("KILN_BENCH_SMALL") != nullptr));
  for ([[maybe_unused]] auto iteration : state) {
    const auto plain = compile_plainly(file);
    const auto one = prewarm(file, 1);
    const auto two = prewarm(file, 2);
    if (one.symbols != plain.symbols || two.symbols != plain.symbols)
      give_up("the kernels are not those of plain compiles");
    state.SetIterationTime(two.seconds);
    state.counters["kernels"] = static_cast<double>(plain.symbols.size());
    state.counters["plain_s"] = plain.seconds;
    state.counters["jobs1_s"] = one.seconds;
    state.counters["jobs2_s"] = two.seconds;
    state.counters["times_faster"] = plain.seconds / two.seconds;
    state.counters["jobs_ratio"] = one.seconds / two.seconds;
    state.counters["cores_busy"] = two.processor_seconds / two.seconds;
    state.counters["precompiled"] = two.precompiled;
  }
}

void add(const char* name, std::string (*manifest)(bool small)) {
  benchmark::RegisterBenchmark(
      name, [manifest](benchmark::State& state) { prewarm_against_plain(state, manifest); })
      ->UseManualTime()
      ->Iterations(1)
      ->Unit(benchmark::kSecond);
}

}  // namespace
}  // namespace kiln::bench

int main(int count, char** arguments) {
  using namespace kiln::bench;
  if (count == 3 && arguments[1] == plain_flag) {
    const auto plain = compile_plainly_here(arguments[2]);
    std::printf("%s\n",
                json({{"seconds", plain.seconds}, {"symbols", plain.symbols}}).dump().c_str());
    return 0;
  }
  add("cub", cub_manifest);
  add("cub_with_sort", cub_with_sort_manifest);
  add("demo", demo_manifest);
  add("demo_kernels_alone", demo_kernels_alone_manifest);
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
