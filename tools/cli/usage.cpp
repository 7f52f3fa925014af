#include "usage.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "system/nearest_name.h"

namespace kiln::cli {

namespace {

using Names = std::vector<std::string>;

Names verb_names(const GrammarDescription& grammar) {
  Names names;
  for (const auto& verb : grammar.verbs) names.push_back(verb.name);
  return names;
}

// The word that stands where a verb is expected; empty where there is none.
std::string word_for_verb(const Names& words) {
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (*word == "--cache" && std::next(word) != words.end()) {
      ++word;
    } else if (!word->starts_with('-')) {
      return *word;
    }
  }
  return {};
}

Names option_names(const GrammarDescription& grammar, const std::string& verb) {
  Names names;
  const auto add = [&](const std::vector<DescribedOption>& options) {
    for (const auto& option : options)
      names.insert(names.end(), option.names.begin(), option.names.end());
  };
  add(grammar.options);
  for (const auto& described : grammar.verbs) {
    if (described.name == verb) add(described.options);
  }
  return names;
}

std::string meant_or(std::string_view word, const Names& known, std::string otherwise) {
  const auto meant = system::nearest_name(word, known);
  return meant ? fmt::format("did you mean '{}'?", *meant) : std::move(otherwise);
}

}  // namespace

std::string what_is_wrong(const GrammarDescription& grammar, const UnreadWords& unread) {
  const auto verbs = verb_names(grammar);
  const auto verb = word_for_verb(unread.words);
  if (verb.empty()) return "a verb is missing, and tells what to do";
  if (std::find(verbs.begin(), verbs.end(), verb) == verbs.end()) {
    return fmt::format("there is no verb '{}'; {}", verb,
                       meant_or(verb, verbs, fmt::format("there are {}", fmt::join(verbs, ", "))));
  }
  const auto option = std::ranges::find_if(unread.unexpected,
                                           [](const auto& word) { return word.starts_with('-'); });
  if (option == unread.unexpected.end()) return unread.parsers_words;
  const auto name = option->substr(0, option->find('='));
  const auto end_of_options = std::find(unread.words.begin(), unread.words.end(), "--");
  if (std::find(end_of_options, unread.words.end(), *option) != unread.words.end())
    return fmt::format("'{}' stands behind '--', where nothing is an option: put it before", name);
  return fmt::format(
      "kiln {} has no option '{}'; {}", verb, name,
      meant_or(name, option_names(grammar, verb), fmt::format("kiln {} --help lists them", verb)));
}

}  // namespace kiln::cli
