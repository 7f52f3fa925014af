// Compiles a decoder block's kernels into a cache, then has a second process served from it.

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "decoder_block.h"
#include "decoder_programs.h"
#include "gpu.h"
#include "gpu_check.h"
#include "kiln/kiln.h"

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

using Architectures = std::vector<std::string>;

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

double cold_milliseconds(const kiln::Artifact& artifact) {
  return static_cast<double>(artifact.compile_us) / 1000;
}

std::vector<kiln::Program> made(std::vector<kiln::ProgramSpec> specs) {
  std::vector<kiln::Program> programs;
  programs.reserve(specs.size());
  for (auto& spec : specs) programs.push_back(kiln::Program::make(std::move(spec)).value());
  return programs;
}

std::vector<kiln::Program> programs() { return made(demo::decoder_block()); }

/// Says why something will not be served the next time.
void report_not_stored(const kiln::Event& event) {
  if (event.kind == kiln::EventKind::not_stored) {
    fmt::print("{} for {} is not kept: {}\n", event.program, event.arch, event.detail);
  }
}

kiln::Runtime open_runtime(const fs::path& cache) {
  return kiln::Runtime::open({.cache_directory = cache, .observer = report_not_stored}).value();
}

/// The folder of the cache: the one asked for, else a fresh one that goes with this object.
class CacheFolder {
 public:
  explicit CacheFolder(std::optional<fs::path> wanted) : temporary_(!wanted) {
    if (wanted) {
      path_ = fs::absolute(*wanted);
      return;
    }
    std::string pattern = fs::temp_directory_path() / "kiln-demo-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) {
      throw fs::filesystem_error("no folder for the cache", pattern,
                                 std::error_code(errno, std::generic_category()));
    }
    path_ = pattern;
  }
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;
  ~CacheFolder() {
    std::error_code ignored;
    if (temporary_) fs::remove_all(path_, ignored);
  }

  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  bool temporary_;
  fs::path path_;
};

/// One line per kernel; what belongs to the whole compile stands on its first line.
void print_kernels(const kiln::Artifact& artifact) {
  bool first = true;
  for (const kiln::KernelInfo& kernel : artifact.kernels) {
    const std::string bytes = first ? fmt::format("{}", artifact.image.size()) : "";
    const std::string cold = first ? fmt::format("{:.1f}", cold_milliseconds(artifact)) : "";
    fmt::print("{:<42} {:<7} {:>9} {:>8} {:>9}\n", kernel.expression, artifact.arch,
               kernel.registers, bytes, cold);
    first = false;
  }
  std::fflush(stdout);
}

/// Has every program for every architecture in the cache afterwards.
void compile_all(const fs::path& cache, const Architectures& architectures) {
  fmt::print("cache: {}\n\n", cache.string());
  fmt::print("{:<42} {:<7} {:>9} {:>8} {:>9}\n", "kernel", "arch", "registers", "bytes", "cold ms");
  kiln::Runtime runtime = open_runtime(cache);
  std::size_t kernels = 0;
  double cold = 0;
  for (const kiln::Program& program : programs()) {
    for (const std::string& arch : architectures) {
      const auto artifact = runtime.compile(program, kiln::Target::parse(arch).value()).value();
      print_kernels(artifact);
      kernels += artifact.kernels.size();
      cold += cold_milliseconds(artifact);
    }
  }
  const kiln::RuntimeCounters counters = runtime.counters();
  fmt::print("\n{} kernels in {} images, {} of them compiled now; compiling them took {:.2f} s\n",
             kernels, counters.compiles + counters.local_hits, counters.compiles, cold / 1000);
}

/// Asks a fresh runtime for all of it again. True if every artifact came from the cache.
bool serve_all(const fs::path& cache, const Architectures& architectures,
               Clock::time_point process_begin) {
  fmt::print(
      "\nsecond process, served from the cache:\n\n{:<20} {:<7} {:>8} {:>9} {:>8} {:>8}  {}\n",
      "program", "arch", "kernels", "cold ms", "warm us", "ratio", "origin");
  kiln::Runtime runtime = open_runtime(cache);
  std::size_t served = 0;
  std::size_t compiled = 0;
  double cold_total = 0;
  double warm_total = 0;
  for (const kiln::Program& program : programs()) {
    for (const std::string& arch : architectures) {
      const kiln::Target target = kiln::Target::parse(arch).value();
      const auto begin = Clock::now();
      const auto artifact = runtime.compile(program, target).value();
      const double warm = microseconds_since(begin);
      const double cold = cold_milliseconds(artifact);
      fmt::print("{:<20} {:<7} {:>8} {:>9.1f} {:>8.0f} {:>7.0f}x  {}\n", program.name(), arch,
                 artifact.kernels.size(), cold, warm, cold * 1000 / warm,
                 kiln::to_string(artifact.origin));
      const bool from_cache =
          artifact.origin == kiln::Origin::local || artifact.origin == kiln::Origin::bundle;
      (from_cache ? served : compiled) += artifact.kernels.size();
      cold_total += cold;
      warm_total += warm;
    }
  }
  fmt::print(
      "\n{} kernels served, {} compiled: {:.0f} us instead of {:.2f} s ({:.0f} times less); "
      "the process took {:.1f} ms\n",
      served, compiled, warm_total, cold_total / 1000, cold_total * 1000 / warm_total,
      microseconds_since(process_begin) / 1000);
  return compiled == 0;
}

/// Runs this program again as a process of its own. True if it was content.
bool run_second_process(const fs::path& cache, const Architectures& architectures) {
  std::fflush(stdout);
  const std::string self = fs::read_symlink("/proc/self/exe");
  const std::string archs = fmt::format("{}", fmt::join(architectures, ","));
  const char* arguments[] = {self.c_str(), "--serve",     "--cache", cache.c_str(),
                             "--arch",     archs.c_str(), nullptr};
  pid_t child = 0;
  if (const int error = posix_spawn(&child, self.c_str(), nullptr, nullptr,
                                    const_cast<char**>(arguments), environ);
      error != 0) {
    throw fs::filesystem_error("cannot start", self,
                               std::error_code(error, std::generic_category()));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Runs every kernel, also those of the decoder, against its reference where there is a GPU. True if none is wrong.
bool check_on_gpu(const fs::path& cache) {
  kiln::Runtime runtime = open_runtime(cache);
  const kiln::Availability driver = runtime.driver();
  if (!driver.available) {
    fmt::print("\nkernels not run: {}\n", driver.reason.substr(0, driver.reason.find('\n')));
    return true;
  }
  fmt::print("\non {}:\n\n{:<42} {:>10} {:>10}\n", driver.description, "kernel", "max error",
             "tolerance");
  const demo::Gpu gpu = demo::Gpu::open(driver.path);
  const auto checks = demo::gpu_checks();
  auto checked = programs();
  std::ranges::move(made(demo::decoder_programs()), std::back_inserter(checked));
  bool right = true;
  for (const kiln::Program& program : checked) {
    for (const std::string& expression : program.kernels()) {
      const demo::GpuCheck& check = checks.at(expression);
      const double error = check.error(gpu, runtime.kernel(program, expression).value());
      const bool within = error <= check.tolerance;
      fmt::print("{:<42} {:>10.2e} {:>10.2e}{}\n", expression, error, check.tolerance,
                 within ? "" : "  WRONG");
      right = right && within;
    }
  }
  return right;
}

struct Words {
  std::optional<fs::path> cache;
  Architectures architectures{"sm_80", "sm_90a", "sm_100"};
  bool serve = false;
};

bool run(const Words& words, Clock::time_point process_begin) {
  const CacheFolder cache(words.cache);
  if (words.serve) return serve_all(cache.path(), words.architectures, process_begin);
  compile_all(cache.path(), words.architectures);
  const bool served = run_second_process(cache.path(), words.architectures);
  if (!served) fmt::print("\nthe second process was not served everything from the cache\n");
  return check_on_gpu(cache.path()) && served;
}

}  // namespace

int main(int argc, char** argv) try {
  const auto process_begin = Clock::now();
  Words words;
  CLI::App app{"Compiles a decoder block's kernels, then serves them to a second process."};
  app.add_option("--cache", words.cache, "Folder of the cache; a temporary one when not given");
  app.add_option("--arch", words.architectures, "Architectures to compile for")->delimiter(',');
  app.add_flag("--serve", words.serve,
               "Only ask for everything, and fail if something is not in the cache");
  CLI11_PARSE(app, argc, argv);
  return run(words, process_begin) ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const tl::bad_expected_access<kiln::Error>& failure) {
  std::fprintf(stderr, "kiln-demo: %s\n%s", failure.error().message.c_str(),
               failure.error().log.c_str());
  return EXIT_FAILURE;
} catch (const std::exception& failure) {
  std::fprintf(stderr, "kiln-demo: %s\n", failure.what());
  return EXIT_FAILURE;
}
