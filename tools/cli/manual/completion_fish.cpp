#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "manual/completion.h"

namespace kiln::cli {

namespace {

constexpr std::string_view head = R"(# fish completion of kiln, made of the tool's own grammar.

# Those of the cache that the line names.
function __kiln_keys
  set -l cache
  set -l words (commandline -opc)
  for at in (seq (count $words))
    if test "$words[$at]" = --cache
      set cache --cache $words[(math $at + 1)]
    else if string match -q -- '--cache=*' $words[$at]
      set cache $words[$at]
    end
  end
  kiln $cache ls --json 2>/dev/null | )";

constexpr std::string_view after_keys = R"(
end

complete -c kiln -f
)";

std::string quoted(std::string_view text) { return "'" + escaped(text, "'\\") + "'"; }

constexpr Fillings fillings{"",
                            " -F",
                            " -a '(__fish_complete_directories)'",
                            " -a '(__kiln_keys)'",
                            " -F -a '(__kiln_keys)'",
                            " -a '{}'"};

std::string flag_of(const std::string& name) {
  return name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
}

std::string option_line(const std::string& condition, const DescribedOption& option) {
  std::string line = "complete -c kiln" + condition;
  for (const auto& name : option.names) line += flag_of(name);
  if (!option.value.empty())
    line += (option.filling == Filling::file ? " -r" : " -x") + fill(option, fillings);
  return line + " -d " + quoted(option.what) + "\n";
}

std::string verb_lines(const std::string& no_verb, const DescribedVerb& verb) {
  auto text =
      fmt::format("complete -c kiln{} -a {} -d {}\n", no_verb, verb.name, quoted(verb.what));
  const auto condition = fmt::format(" -n '__fish_seen_subcommand_from {}'", verb.name);
  for (const auto& option : verb.options) text += option_line(condition, option);
  if (verb.operands.empty()) return text;
  const auto operand = fill(verb.operands.front(), fillings);
  return operand.empty() ? text : text + "complete -c kiln" + condition + operand + "\n";
}

}  // namespace

std::string fish_completion(const GrammarDescription& grammar) {
  std::vector<std::string> verbs;
  for (const auto& verb : grammar.verbs) verbs.push_back(verb.name);
  const auto no_verb =
      fmt::format(" -n 'not __fish_seen_subcommand_from {}'", fmt::join(verbs, " "));
  auto text = fmt::format("{}{}{}", head, read_keys, after_keys);
  for (const auto& option : grammar.options) text += option_line("", option);
  for (const auto& verb : grammar.verbs) text += verb_lines(no_verb, verb);
  return text;
}

}  // namespace kiln::cli
