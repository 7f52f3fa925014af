// Compiles a decoder block's kernels into an empty cache, has a second process served from it, and lets a tiny decoder
// speak: five lines of what came of it.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fresh_folder.h"
#include "generation.h"
#include "gpu_run.h"
#include "images.h"
#include "kiln/cache.h"
#include "kiln/kiln.h"
#include "moving_line.h"
#include "report.h"
#include "second_process.h"
#include "system/environment.h"

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using demo::Report;

constexpr int exit_usage = 2;

struct Words {
  std::optional<fs::path> cache;
  demo::Architectures architectures{"sm_80", "sm_90a", "sm_100"};
  bool verbose = false;
  bool serve = false;
  bool json = false;
};

/// Says why something will not be served the next time.
void report_not_stored(const kiln::Event& event) {
  if (event.kind == kiln::EventKind::not_stored) {
    fmt::print(stderr, "{} for {} is not kept: {}\n", event.program, event.arch, event.detail);
  }
}

/// Whatever the environment says of caches: this one is used.
kiln::RuntimeOptions options_of(const fs::path& cache) {
  return {.cache_directory = cache, .cache_disabled = false, .observer = report_not_stored};
}

kiln::Runtime open_runtime(kiln::RuntimeOptions options) {
  return kiln::Runtime::open(std::move(options)).value();
}

/// Compiles everything into this cache, which is empty, so that what it took is what compiling takes.
std::vector<demo::Image> compile_all(const fs::path& cache, const demo::Architectures& archs) {
  auto options = options_of(cache);
  options.cache_read_only = false;
  options.bundles.emplace();
  options.mode = kiln::Mode::jit;
  kiln::Runtime runtime = open_runtime(std::move(options));
  demo::MovingLine line;
  auto images = demo::ask_for_all(
      runtime, archs, [&](auto done, auto all, const auto& next, const auto& arch) {
        line.show(fmt::format("compiling {} of {}: {} for {}", done + 1, all, next.name(), arch));
      });
  if (runtime.driver().available) {
    line.show("compiling for this GPU");
    demo::compile_for_gpu(runtime);
  }
  return images;
}

/// Adds what the fresh cache holds to the one that stays.
void keep(const fs::path& fresh, demo::KeptCache& kept) {
  const auto settings = kiln::resolve_settings(options_of(kept.path)).value();
  auto from = kiln::Cache::open(fresh, {.access = kiln::Cache::Access::read_only}).value();
  auto to = kiln::Cache::open(
                kept.path, {.max_bytes = settings.cache_max_bytes, .trust = settings.cache_trust})
                .value();
  to.import(from).value();
  const auto sums = to.statistics().value();
  kept.entries = sums.entries;
  kept.stored_bytes = sums.stored_bytes;
}

/// Lets the decoder speak: on the GPU by kernels out of this cache alone, else by their references.
void speak(const fs::path& cache, Report& report) {
  const demo::Question question;
  const auto weights = demo::make_weights(question.seed);
  const auto reference = demo::generate_on_cpu(question, weights);
  auto options = options_of(cache);
  options.mode = kiln::Mode::cache_only;
  kiln::Runtime runtime = open_runtime(std::move(options));
  const kiln::Availability driver = runtime.driver();
  if (driver.available) {
    report.gpu = demo::run_on_gpu(runtime, reference, weights);
    report.text = report.gpu->tokens;
    report.by = fmt::format("kernels that the cache served, on {}", driver.description);
  } else {
    report.text = reference.tokens;
    report.by = fmt::format("the CPU's references of the kernels; kernels not run: {}",
                            driver.reason.substr(0, driver.reason.find('\n')));
  }
}

void print(const Report& report, bool verbose) {
  const bool bold = demo::moves(STDOUT_FILENO) && kiln::system::variable("NO_COLOR") == nullptr;
  fmt::print("{}", demo::verdict(report, bold));
  if (verbose) fmt::print("\n{}", demo::rows(report));
  if (report.kept) {
    fmt::print("\nto try next{}:\n  {}\n", verbose ? "" : ", beside --verbose",
               fmt::join(demo::next_commands(report), "\n  "));
  }
}

Report compile_and_serve(const Words& words) {
  const demo::FreshFolder fresh;  // Before any thread, so that its signals are blocked in all.
  Report report;
  if (words.cache) {
    report.kept = demo::KeptCache{fs::weakly_canonical(fs::absolute(*words.cache))};
    auto runtime = open_runtime(options_of(report.kept->path));
    report.kept->left = demo::count_stored(runtime, words.architectures);
  }
  report.cold = compile_all(fresh.path(), words.architectures);
  if (report.kept) keep(fresh.path(), *report.kept);
  const fs::path& cache = report.kept ? report.kept->path : fresh.path();
  report.warm = demo::run_second_process(cache, words.architectures);
  speak(cache, report);
  return report;
}

/// Prints when the folder is gone: a reader that closes the pipe ends the process. True if nothing is wrong.
bool run(const Words& words) {
  const Report report = compile_and_serve(words);
  print(report, words.verbose);
  return demo::faults(report).empty();
}

/// What the second process does. True if it compiled nothing.
bool serve(const Words& words, Clock::time_point process_begin) {
  auto runtime = open_runtime(options_of(fs::absolute(*words.cache)));
  const auto images = demo::ask_for_all(runtime, words.architectures);
  const std::chrono::duration<double, std::micro> taken = Clock::now() - process_begin;
  fmt::print("{}", words.json ? demo::document_of(images, taken.count())
                              : demo::summary_of(images, taken.count(), words.verbose));
  return std::ranges::all_of(images, &demo::Image::served);
}

void add_options(CLI::App& app, Words& words) {
  auto* cache = app.add_option("--cache", words.cache,
                               "Folder of the cache that is kept; none when not given")
                    ->take_last();
  app.add_option("--arch", words.architectures, "Architectures to compile for")->delimiter(',');
  app.add_flag("--verbose", words.verbose, "A row for each kernel");
  auto* serve = app.add_flag("--serve", words.serve,
                             "Only ask for everything; status 1 if something had to be compiled")
                    ->needs(cache);
  app.add_flag("--json", words.json, "Of --serve, as a document")->needs(serve);
}

}  // namespace

int main(int argc, char** argv) try {
  const auto process_begin = Clock::now();
  Words words;
  CLI::App app{"Compiles a decoder block's kernels, then serves them to a second process."};
  add_options(app, words);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? EXIT_SUCCESS : exit_usage;
  }
  const bool right = words.serve ? serve(words, process_begin) : run(words);
  if (std::fflush(stdout) != 0) throw std::system_error(errno, std::generic_category(), "output");
  return right ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const tl::bad_expected_access<kiln::Error>& failure) {
  std::fprintf(stderr, "kiln-demo: %s\n%s", failure.error().message.c_str(),
               failure.error().log.c_str());
  return EXIT_FAILURE;
} catch (const std::exception& failure) {
  std::fprintf(stderr, "kiln-demo: %s\n", failure.what());
  return EXIT_FAILURE;
}
