#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "exit_code.h"
#include "grammar/grammar.h"
#include "words.h"

namespace kiln::cli {

// What the files of the grammar share. Only they include this: CLI11's header takes longer to compile than all that a
// verb does.

inline constexpr const char* about =
    "kiln compiles CUDA C++ once and keeps the result: this tool compiles programs, and looks into "
    "caches and after them.";

inline constexpr const char* entry_hint =
    "An entry is named by its key or the first digits of it, by its program, or by one of its "
    "kernels; of the two latter a glob will do. What begins a key is taken for that, and refused "
    "where it is a name as well.";

/// Most verbs have nothing to do when the whole line has been read.
inline void complete(const CLI::App&, void*) {}

void complete(const CLI::App& verb, ProgramWords* words);

/// Adds verbs to the parser, and keeps the work of the one that was read.
class VerbGrammar {
 public:
  VerbGrammar(CLI::App& app, CommandLine& line) : app_(app), line_(line) {}

  /// A verb whose words are a Words. Its work begins after the whole line has been read.
  template <class Words>
  std::pair<CLI::App*, std::shared_ptr<Words>> verb(
      const char* name, const char* what,
      std::function<ExitCode(const Globals&, const Words&)> work) {
    auto words = std::make_shared<Words>();
    auto* verb = app_.add_subcommand(name, what);
    verb->callback([this, verb, words, work = std::move(work)] {
      complete(*verb, words.get());
      line_.action = [words, work](const Globals& globals) { return work(globals, *words); };
    });
    return {verb, words};
  }

 private:
  CLI::App& app_;
  CommandLine& line_;
};

/// An option that stands for one value each time, and may be repeated.
CLI::Option* one_each(CLI::Option* option, const char* type);

CLI::Option* required_operand(CLI::Option* option);

/// --arch and --image, which replace what a manifest says.
void add_targets_instead(CLI::App& verb, std::vector<std::string>& archs, std::string& image);

/// Which of several entries a word of the command line is for.
void add_newest(CLI::App& verb, bool& newest);

/// `what` begins what the option is for.
void add_other_store(CLI::App& verb, std::optional<std::string>& store, const char* what);

void add_compiling_verbs(VerbGrammar& grammar);
void add_inspecting_verbs(VerbGrammar& grammar);
void add_keeping_verbs(VerbGrammar& grammar);
void add_shipping_verbs(VerbGrammar& grammar);
void add_surroundings_verbs(VerbGrammar& grammar);

/// What ConfigWords::action may be.
std::vector<std::string> config_actions();

/// What every verb takes.
void add_globals(CLI::App& app, Globals& globals);

void add_verbs(CLI::App& app, VerbGrammar& grammar);

}  // namespace kiln::cli
