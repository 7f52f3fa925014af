#include "grammar/grammar_description.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "grammar/verb_grammar.h"
#include "kiln/target.h"
#include "verbs.h"

namespace kiln::cli {

namespace {

std::vector<std::string> image_kinds() {
  std::vector<std::string> kinds;
  for (const auto kind : {ImageKind::cubin, ImageKind::ptx, ImageKind::ltoir, ImageKind::optixir,
                          ImageKind::fatbin}) {
    kinds.emplace_back(to_string(kind));
  }
  return kinds;
}

// Those that people compile for today; the parser takes others too.
std::vector<std::string> usual_architectures() {
  return {"native", "sm_75",   "sm_80",   "sm_86",  "sm_89",   "sm_90",  "sm_90a",
          "sm_100", "sm_100a", "sm_103a", "sm_110", "sm_110a", "sm_120", "sm_120a"};
}

struct Values {
  Filling filling;
  std::vector<std::string> (*choices)() = nullptr;
};

// What a value is called tells which values there are.
void describe_filling(DescribedOption& option) {
  static const std::map<std::string, Values> values{
      {"FILE", {Filling::file}},
      {"MANIFEST", {Filling::file}},
      {"CACHE", {Filling::file}},
      {"BUNDLE", {Filling::file}},
      {"CACHE", {Filling::file}},
      {"DIR", {Filling::folder}},
      {"KEY", {Filling::entry}},
      {"INPUT", {Filling::entry_or_file}},
      {"BEFORE", {Filling::entry_or_file}},
      {"AFTER", {Filling::entry_or_file}},
      {"A", {Filling::choice, usual_architectures}},
      {"A[,B...]", {Filling::choice, usual_architectures}},
      {"KIND", {Filling::choice, image_kinds}},
      {"K[,L...]", {Filling::choice, image_kinds}}};
  const auto found = values.find(option.value);
  if (found == values.end()) return;
  option.filling = found->second.filling;
  if (found->second.choices != nullptr) option.choices = found->second.choices();
}

// What the parser takes, where that is one of some words: it has them in braces after the type.
std::vector<std::string> words_taken(std::string_view type) {
  const auto begin = type.find(":{");
  if (begin == std::string_view::npos) return {};
  std::vector<std::string> words;
  for (type = type.substr(begin + 2); !type.empty() && type.front() != '}';) {
    const auto end = std::min(type.find_first_of(",}"), type.size());
    words.emplace_back(type.substr(0, end));
    type.remove_prefix(end < type.size() && type[end] == ',' ? end + 1 : end);
  }
  return words;
}

DescribedOption describe(const CLI::Option& option) {
  DescribedOption described;
  for (const auto& name : option.get_snames()) described.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) described.names.push_back("--" + name);
  // The parser puts a colon and what it checks after the type.
  const auto type = option.get_type_name();
  const bool takes_value = option.get_items_expected_max() > 0;
  if (takes_value) described.value = type.substr(0, type.find(':'));
  if (option.get_positional()) described.value = option.get_name(true);
  described.what = option.get_description();
  // Where the value may be left out, the option as a whole has no default.
  if (option.get_expected_min() > 0) described.default_value = option.get_default_str();
  described.required = option.get_required();
  described.repeatable = takes_value && option.get_expected_max() > 1;
  describe_filling(described);
  if (auto words = words_taken(type); !words.empty()) {
    described.filling = Filling::choice;
    described.choices = std::move(words);
  }
  return described;
}

// Groups of options are verbs without a name to the parser.
void describe_words(const CLI::App& app, DescribedVerb& verb) {
  for (const auto* option : app.get_options()) {
    // Each verb's --help is that of the tool's own options.
    if (app.get_parent() != nullptr && option == app.get_help_ptr()) continue;
    auto& list = option->get_positional() ? verb.operands : verb.options;
    list.push_back(describe(*option));
  }
  for (const auto* group :
       app.get_subcommands([](const auto* part) { return part->get_name().empty(); }))
    describe_words(*group, verb);
}

DescribedVerb describe_verb(const CLI::App& app) {
  DescribedVerb verb{app.get_name(), app.get_description(), app.get_footer(), {}, {}};
  describe_words(app, verb);
  return verb;
}

}  // namespace

GrammarDescription describe_command_line() {
  CommandLine line;
  CLI::App app(about, "kiln");
  VerbGrammar grammar(app, line);
  add_globals(app, line.globals);
  add_verbs(app, grammar);
  GrammarDescription description{about, describe_verb(app).options, {}};
  for (const auto* verb : std::as_const(app).get_subcommands({}))
    description.verbs.push_back(describe_verb(*verb));
  return description;
}

}  // namespace kiln::cli
