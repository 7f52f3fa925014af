#include <algorithm>
#include <exception>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "output.h"
#include "verbs.h"

namespace kiln::cli {

namespace {

constexpr const char* about =
    "kiln compiles CUDA C++ once and keeps the result: this tool compiles programs, and looks into "
    "caches and after them.";

constexpr const char* exit_codes =
    "Exit status: 0 done, 1 findings or a miss, 2 usage, 3 failure.\n"
    "Settings: KILN_CACHE_DIR and the others that `kiln doctor` lists; the command line goes "
    "first.";

void add_globals(CLI::App& app, Globals& globals) {
  // The library wants an absolute path; on a command line a relative one means what a shell means.
  app.add_option_function<std::string>(
         "--cache",
         [&](const std::string& path) {
           std::error_code empty_stays_empty;
           globals.cache = std::filesystem::absolute(path, empty_stays_empty);
         },
         "The cache's folder (KILN_CACHE_DIR)")
      ->type_name("DIR");
  app.add_flag("--json", globals.json, "One JSON document per line");
  app.add_flag("--quiet", globals.quiet, "No warnings, and no report where files were asked for");
  app.set_version_flag("--version", "kiln " KILN_VERSION);
}

void add_verbs(CLI::App& app, const Globals& globals, Action& chosen) {
  for (const auto add : {add_compile, add_link, add_explain, add_prewarm, add_ls, add_show,
                         add_extract, add_stats, add_verify, add_gc, add_clear, add_pin, add_unpin,
                         add_export, add_import, add_merge, add_config, add_doctor}) {
    add(app, globals, chosen);
  }
  for (auto* verb : app.get_subcommands({})) {
    verb->fallthrough();
    const auto own = verb->get_footer();
    verb->footer(own + (own.empty() ? "" : "\n") +
                 "Every verb takes --cache DIR, --json and --quiet too.");
  }
}

std::vector<std::string> verb_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* verb : app.get_subcommands({})) names.push_back(verb->get_name());
  return names;
}

// What stands where a verb is expected and is none; the parser itself only says that one is missing.
std::string unknown_verb(const std::vector<std::string>& verbs, int argc, char** argv) {
  for (int index = 1; index < argc; ++index) {
    const std::string word = argv[index];
    if (word == "--cache") ++index;
    if (word.starts_with('-')) continue;
    return std::find(verbs.begin(), verbs.end(), word) == verbs.end() ? word : "";
  }
  return {};
}

std::string what_is_wrong(const CLI::App& app, int argc, char** argv,
                          const CLI::ParseError& error) {
  const auto verbs = verb_names(app);
  const auto word = unknown_verb(verbs, argc, argv);
  if (word.empty()) return error.what();
  return fmt::format("there is no verb '{}'; there are {}", word, fmt::join(verbs, ", "));
}

ExitCode report_usage(const CLI::App& app, Globals& globals, const std::string& wrong) {
  // A command line that does not parse leaves its flags unset; those before the fault were read.
  globals.json = app.get_option("--json")->count() > 0;
  report(globals, fail(ErrorCode::invalid_argument, wrong).value());
  fmt::print(stderr, "kiln --help and kiln VERB --help tell more.\n");
  return ExitCode::usage;
}

ExitCode run(int argc, char** argv) {
  Globals globals;
  Action chosen;
  CLI::App app(about, "kiln");
  app.get_formatter()->label("SUBCOMMAND", "VERB");
  app.get_formatter()->label("REQUIRED", "(required)");
  app.footer(exit_codes);
  app.require_subcommand(1);
  add_globals(app, globals);
  add_verbs(app, globals, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help and --version
    return static_cast<ExitCode>(app.exit(asked));
  } catch (const CLI::ParseError& error) {
    return report_usage(app, globals, what_is_wrong(app, argc, argv, error));
  }
  auto result = chosen();
  if (const auto flushed = flush_standard_output(); result && !flushed) {
    result = tl::unexpected(flushed.error());
  }
  if (result) return *result;
  report(globals, result.error());
  return exit_code_of(result.error().code);
}

}  // namespace

}  // namespace kiln::cli

int main(int argc, char** argv) {
  try {
    return static_cast<int>(kiln::cli::run(argc, argv));
  } catch (const std::exception& error) {
    // Standard output that cannot be written, for one.
    fmt::print(stderr, "kiln: error: {}\n", error.what());
    return static_cast<int>(kiln::cli::ExitCode::failure);
  }
}
