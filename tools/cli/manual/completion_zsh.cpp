#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "manual/completion.h"

namespace kiln::cli {

namespace {

/// What _arguments and _describe take, a quoted word each.
using Specs = std::vector<std::string>;

constexpr std::string_view head = R"sh(#compdef kiln
# zsh completion of kiln, made of the tool's own grammar.

# Those of the cache that the line names, before its verb or behind it.
_kiln_keys() {
  local -a keys
  local at=${words[(I)--cache]} cache=${${(M)words:#--cache=*}#--cache=}
  (( at )) && cache=$words[at+1]
  cache=${(Q)${cache:-$cache_before_verb}}
  keys=(${(f)"$(kiln ${cache:+--cache} ${cache:+${~cache}} ls --json 2>/dev/null | )sh";

constexpr std::string_view after_keys = R"sh()"})
  compadd -a keys
}

_kiln_keys_and_files() { _alternative 'keys:key:_kiln_keys' 'files:file:_files' }

_kiln() {
  local curcontext=$curcontext state line cache_before_verb
  local -A opt_args
  local -a globals verbs
  globals=(
)sh";

constexpr std::string_view after_verbs = R"sh(  )
  _arguments -C $globals '1:verb:->verb' '*::word:->words' && return
  cache_before_verb=${opt_args[--cache]}
  case $state in
    verb) _describe verb verbs ;;
    words)
      # An option between the verb and its words takes the verb away from them.
      [[ $words[1] == $line[1] ]] || { words=($line[1] "$words[@]"); (( ++CURRENT )) }
      case $words[1] in
)sh";

constexpr std::string_view tail = R"sh(      esac
      ;;
  esac
}

_kiln "$@"
)sh";

std::string quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

constexpr Fillings fillings{" ",   "_files", "_files -/", "_kiln_keys", "_kiln_keys_and_files",
                            "({})"};

// ":what a value is:how to fill it in", of an option and of an operand.
std::string value_of(const DescribedOption& option) {
  return fmt::format(":{}:{}", escaped(option.value, ":\\"), fill(option, fillings));
}

// A value may stand in the word of its option, -Ifolder and --arch=sm_90, or in the next one.
std::string glue_of(const std::string& name, const DescribedOption& option) {
  if (option.value.empty()) return {};
  return name.starts_with("--") ? "=" : "+";
}

void add_options(const std::vector<DescribedOption>& options, Specs& specs) {
  for (const auto& option : options) {
    const auto before =
        option.repeatable ? std::string("*") : fmt::format("({})", fmt::join(option.names, " "));
    const auto after = fmt::format("[{}]{}", escaped(option.what, "[]\\"),
                                   option.value.empty() ? std::string() : value_of(option));
    for (const auto& name : option.names)
      specs.push_back(quoted(fmt::format("{}{}{}{}", before, name, glue_of(name, option), after)));
  }
}

void add_operands(const std::vector<DescribedOption>& operands, Specs& specs) {
  for (const auto& operand : operands) {
    const auto* kind = operand.repeatable ? "*" : operand.required ? "" : ":";
    specs.push_back(quoted(kind + value_of(operand)));
  }
}

std::string verb_case(const DescribedVerb& verb) {
  Specs specs{"_arguments $globals"};
  add_options(verb.options, specs);
  add_operands(verb.operands, specs);
  return fmt::format("        {})\n          {}\n          ;;\n", verb.name,
                     fmt::join(specs, " \\\n            "));
}

}  // namespace

std::string zsh_completion(const GrammarDescription& grammar) {
  Specs globals;
  Specs verbs;
  add_options(grammar.options, globals);
  for (const auto& verb : grammar.verbs)
    verbs.push_back(quoted(verb.name + ":" + escaped(verb.what, ":\\")));
  auto text = fmt::format("{}{}{}    {}\n  )\n  verbs=(\n    {}\n{}", head, read_keys, after_keys,
                          fmt::join(globals, "\n    "), fmt::join(verbs, "\n    "), after_verbs);
  for (const auto& verb : grammar.verbs) text += verb_case(verb);
  return text + std::string(tail);
}

}  // namespace kiln::cli
