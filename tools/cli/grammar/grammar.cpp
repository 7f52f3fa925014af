#include "grammar/grammar.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "grammar/grammar_description.h"
#include "grammar/verb_grammar.h"
#include "kiln/version.h"
#include "output.h"
#include "usage.h"

namespace kiln::cli {

namespace {

constexpr const char* settings_hint =
    "Settings: KILN_CACHE_DIR and the others that `kiln config` lists; the command line goes "
    "first.";

constexpr const char* globals_hint = "Every verb takes --cache DIR, --json and --quiet too.";

std::string exit_hint() {
  std::vector<std::string> statuses;
  statuses.reserve(exit_meanings.size());
  for (const auto& [code, meaning] : exit_meanings)
    statuses.push_back(fmt::format("{} {}", static_cast<int>(code), meaning));
  return fmt::format("Exit status: {}.", fmt::join(statuses, ", "));
}

// What --help says beside the words themselves.
void add_hints(CLI::App& app) {
  app.get_formatter()->label("SUBCOMMAND", "VERB");
  app.get_formatter()->label("REQUIRED", "(required)");
  const auto common = fmt::format("{}\n{}", exit_hint(), settings_hint);
  app.footer(common);
  for (auto* verb : app.get_subcommands({})) {
    const auto own = verb->get_footer();
    verb->footer(fmt::format("{}\n{}", own.empty() ? common : own, globals_hint));
  }
}

using OptionNames = std::set<std::string, std::less<>>;

std::string is_no_empty_word(const std::string& word) {
  return word.empty() ? "it is empty: give it a value, or leave the option out" : "";
}

bool takes_value(const CLI::Option& option) {
  return !option.get_positional() && option.get_items_expected_max() > 0;
}

// An empty value may be a variable of a script that is not set. Gives the names of all that are so checked. Groups of options
// are verbs too.
OptionNames refuse_empty_values(CLI::App& app) {
  OptionNames checked;
  for (auto* option : app.get_options()) {
    if (!takes_value(*option)) continue;
    option->check(is_no_empty_word);
    for (const auto& name : option->get_lnames()) checked.insert("--" + name);
    for (const auto& name : option->get_snames()) checked.insert("-" + name);
  }
  for (auto* part : app.get_subcommands({})) checked.merge(refuse_empty_values(*part));
  return checked;
}

// The parser would take the next word for the value of `--option=`.
std::vector<std::string> split_empty_values(std::vector<std::string> words,
                                            const OptionNames& with_values) {
  for (std::size_t at = 0; at < words.size() && words[at] != "--"; ++at) {
    auto& word = words[at];
    if (with_values.contains(word)) {
      ++at;  // What follows is its value, whatever it looks like.
    } else if (word.ends_with('=') && with_values.contains(word.substr(0, word.size() - 1))) {
      word.pop_back();
      words.insert(words.begin() + static_cast<std::ptrdiff_t>(++at), std::string());
    }
  }
  return words;
}

ExitCode report_usage(const CLI::App& app, Globals& globals, const std::string& wrong) {
  // A command line that does not parse leaves its flags unset; those before the fault were read.
  globals.json = app.get_option("--json")->count() > 0;
  report(globals, {ErrorCode::invalid_argument, wrong, {}, 0});
  say("kiln --help and kiln VERB --help tell more.\n");
  return ExitCode::usage;
}

}  // namespace

void add_globals(CLI::App& app, Globals& globals) {
  // The library wants an absolute path; on a command line a relative one means what a shell means.
  app.add_option_function<std::string>(
         "--cache",
         [&](const std::string& path) {
           std::error_code no_working_directory;
           globals.cache = std::filesystem::absolute(path, no_working_directory);
           if (no_working_directory) {
             throw CLI::ValidationError("--cache " + path,
                                        "the working directory is gone: name an absolute path");
           }
         },
         "The cache's folder (KILN_CACHE_DIR)")
      ->type_name("DIR");
  app.add_flag("--json", globals.json, "One JSON document per line");
  app.add_flag("--quiet", globals.quiet, "No warnings, and no report where files were asked for");
  app.set_version_flag("--version", fmt::format("kiln {}", version()));
}

void add_verbs(CLI::App& app, VerbGrammar& grammar) {
  add_compiling_verbs(grammar);
  add_inspecting_verbs(grammar);
  add_keeping_verbs(grammar);
  add_shipping_verbs(grammar);
  add_surroundings_verbs(grammar);
  for (auto* verb : app.get_subcommands({})) verb->fallthrough();
}

CommandLine parse_command_line(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  CommandLine line;
  CLI::App app(about, "kiln");
  VerbGrammar grammar(app, line);
  app.require_subcommand(1);
  add_globals(app, line.globals);
  add_verbs(app, grammar);
  add_hints(app);
  words = split_empty_values(std::move(words), refuse_empty_values(app));
  if (words.empty()) {
    put_text(app.help());
    return line;
  }
  try {
    app.parse(std::vector(words.rbegin(), words.rend()));
  } catch (const CLI::Success& asked) {  // --help and --version
    line.without_action = static_cast<ExitCode>(app.exit(asked));
  } catch (const CLI::ParseError& error) {
    line.action = nullptr;
    const UnreadWords unread{words, app.remaining(true), error.what()};
    line.without_action =
        report_usage(app, line.globals, what_is_wrong(describe_command_line(), unread));
  }
  return line;
}

}  // namespace kiln::cli
