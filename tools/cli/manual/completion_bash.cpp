#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "manual/completion.h"

namespace kiln::cli {

namespace {

using Words = std::vector<std::string>;

constexpr std::string_view head = R"(# bash completion of kiln, made of the tool's own grammar.

_kiln_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2"); }

# Those of the cache that the line names; the shell has not expanded its words yet.
_kiln_keys() {
  local index
  local -a cache=()
  for ((index = 1; index < COMP_CWORD; ++index)); do
    [[ ${COMP_WORDS[index]} == --cache ]] || continue
    [[ ${COMP_WORDS[index + 1]} == = ]] && ((++index))
    cache=(--cache "${COMP_WORDS[index + 1]/#\~/$HOME}")
  done
  kiln "${cache[@]}" ls --json 2>/dev/null | )";

constexpr std::string_view before_values = R"(
}

_kiln() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb='' index
  COMPREPLY=()
  # To bash, --image=ptx is three words.
  if [[ $word == = ]]; then
    word=''
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((index = 1; index < COMP_CWORD; ++index)); do
    case ${COMP_WORDS[index]} in
)";

constexpr std::string_view after_globals = R"(      -*) ;;
      *)
        verb=${COMP_WORDS[index]}
        break
        ;;
    esac
  done
)";

constexpr std::string_view tail = R"(}

complete -F _kiln kiln
)";

// Where the shell itself knows best, as with names of files that hold spaces, it is asked.
constexpr Fillings fillings{":",
                            "compopt -o default",
                            "compopt -o dirnames",
                            "_kiln_words \"$(_kiln_keys)\" \"$word\"",
                            "_kiln_words \"$(_kiln_keys)\" \"$word\"; compopt -o default",
                            "_kiln_words '{}' \"$word\""};

void add_names(const std::vector<DescribedOption>& options, Words& names) {
  for (const auto& option : options)
    names.insert(names.end(), option.names.begin(), option.names.end());
}

// What follows an option, one line each; `verb` is a pattern.
std::string value_cases(const std::string& verb, const std::vector<DescribedOption>& options) {
  std::string text;
  for (const auto& option : options) {
    if (option.value.empty()) continue;
    Words patterns;
    for (const auto& name : option.names) patterns.push_back(fmt::format("{}/{}", verb, name));
    text +=
        fmt::format("    {}) {}; return ;;\n", fmt::join(patterns, " | "), fill(option, fillings));
  }
  return text;
}

std::string skip_global_values(const std::vector<DescribedOption>& globals) {
  std::string text;
  for (const auto& option : globals) {
    if (option.value.empty()) continue;
    text += fmt::format(
        "      {}) [[ ${{COMP_WORDS[index + 1]}} == = ]] && ((++index)); ((++index)) ;;\n",
        fmt::join(option.names, " | "));
  }
  return text;
}

// `verb` is empty for the place where a verb is wanted.
std::string word_cases(const std::string& verb, const Words& options, const std::string& operand) {
  return fmt::format("    {0}/-*) _kiln_words '{1}' \"$word\" ;;\n    {0}/*) {2} ;;\n", verb,
                     fmt::join(options, " "), operand);
}

}  // namespace

std::string bash_completion(const GrammarDescription& grammar) {
  Words globals;
  Words verbs;
  add_names(grammar.options, globals);
  std::string values = value_cases("*", grammar.options);
  std::string words;
  for (const auto& verb : grammar.verbs) {
    verbs.push_back(verb.name);
    values += value_cases(verb.name, verb.options);
    Words options;
    add_names(verb.options, options);
    options.insert(options.end(), globals.begin(), globals.end());
    words += word_cases(verb.name, options,
                        verb.operands.empty() ? ":" : fill(verb.operands.front(), fillings));
  }
  const auto verb_words = fmt::format("_kiln_words '{}' \"$word\"", fmt::join(verbs, " "));
  words = word_cases("", globals, verb_words) + words;
  return fmt::format(
      "{}{}{}{}{}  case $verb/$before in\n{}  esac\n  case $verb/$word in\n{}  esac\n{}", head,
      read_keys, before_values, skip_global_values(grammar.options), after_globals, values, words,
      tail);
}

}  // namespace kiln::cli
