#include "usage.h"

#include <algorithm>
#include <cstddef>
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

// The first word that is no option, nor an option's value: a verb is expected there. The end where there is none.
Names::const_iterator place_of_verb(const Names& words) {
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (*word == "--cache" && std::next(word) != words.end()) {
      ++word;
    } else if (!word->starts_with('-')) {
      return word;
    }
  }
  return words.end();
}

// Without its value. The parser hands back as unexpected what not every verb takes.
std::string option_before_verb(const UnreadWords& unread) {
  const auto verb = place_of_verb(unread.words);
  const auto option = std::find_if(unread.words.begin(), verb, [&](const std::string& word) {
    return word.starts_with('-') && std::ranges::count(unread.unexpected, word) > 0;
  });
  return option == verb ? "" : option->substr(0, option->find('='));
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

// A letter alone stands for the one option that begins with it: to any other letter it is a slip, and tells nothing.
std::string option_meant_or(std::string_view option, const Names& known, std::string otherwise) {
  constexpr std::size_t dash_and_letter = 2;
  if (option.size() != dash_and_letter) return meant_or(option, known, std::move(otherwise));
  const auto beginning = fmt::format("-{}", option);
  Names fitting;
  std::ranges::copy_if(known, std::back_inserter(fitting),
                       [&](const auto& name) { return name.starts_with(beginning); });
  return fitting.size() == 1 ? fmt::format("did you mean '{}'?", fitting.front())
                             : std::move(otherwise);
}

// What other tools write with -o is an operand here.
bool names_bundle_by_option(const std::string& verb, std::string_view option) {
  return verb == "export" && (option.starts_with("-o") || option.starts_with("--out"));
}

std::string wrong_option(const GrammarDescription& grammar, const std::string& verb,
                         const std::string& option) {
  const auto remedy = names_bundle_by_option(verb, option)
                          ? "the bundle is named without an option: kiln export x.kiln"
                          : option_meant_or(option, option_names(grammar, verb),
                                            fmt::format("kiln {} --help lists them", verb));
  return fmt::format("kiln {} has no option '{}'; {}", verb, option, remedy);
}

bool chooses_programs_by_option(const GrammarDescription& grammar, const std::string& verb) {
  const auto described = std::ranges::find(grammar.verbs, verb, &DescribedVerb::name);
  const auto is_of_programs = [](const DescribedOption& option) {
    return std::ranges::count(option.names, "--program") > 0;
  };
  return described->operands.empty() && std::ranges::any_of(described->options, is_of_programs);
}

// Where all options are known.
std::string wrong_operand(const GrammarDescription& grammar, const std::string& verb,
                          const UnreadWords& unread) {
  if (unread.unexpected.empty() || unread.unexpected.front().empty())
    return fmt::format("kiln {}: {}", verb, unread.parsers_words);
  const auto& word = unread.unexpected.front();
  const auto remedy =
      chooses_programs_by_option(grammar, verb)
          ? fmt::format("--program '{}' chooses the programs whose names match", word)
          : fmt::format("kiln {} --help tells what it takes", verb);
  return fmt::format("kiln {} has no place for '{}'; {}", verb, word, remedy);
}

std::string missing_verb(const Names& words) {
  return words.back() == "--cache" ? "--cache wants a folder behind it, as in kiln --cache DIR ls"
                                   : "a verb is missing, and tells what to do";
}

}  // namespace

std::string what_is_wrong(const GrammarDescription& grammar, const UnreadWords& unread) {
  const auto verbs = verb_names(grammar);
  if (const auto option = option_before_verb(unread); !option.empty()) {
    return fmt::format("'{}' stands before the verb, where no verb takes it; {}", option,
                       option_meant_or(option, option_names(grammar, {}),
                                       "an option of one verb stands behind that"));
  }
  const auto place = place_of_verb(unread.words);
  if (place == unread.words.end()) return missing_verb(unread.words);
  const auto& verb = *place;
  if (std::find(verbs.begin(), verbs.end(), verb) == verbs.end()) {
    return fmt::format("there is no verb '{}'; {}", verb,
                       meant_or(verb, verbs, fmt::format("there are {}", fmt::join(verbs, ", "))));
  }
  const auto option = std::ranges::find_if(unread.unexpected,
                                           [](const auto& word) { return word.starts_with('-'); });
  if (option == unread.unexpected.end()) return wrong_operand(grammar, verb, unread);
  const auto name = option->substr(0, option->find('='));
  const auto end_of_options = std::find(unread.words.begin(), unread.words.end(), "--");
  if (std::find(end_of_options, unread.words.end(), *option) != unread.words.end())
    return fmt::format("'{}' stands behind '--', where nothing is an option: put it before", name);
  return wrong_option(grammar, verb, name);
}

}  // namespace kiln::cli
