#include "source/macro_expansion.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "source/characters.h"

namespace kiln {

namespace {

using Texts = std::set<std::string>;

constexpr std::size_t most_expansions = 256;
constexpr int deepest_expansion = 32;
constexpr int most_steps = 10'000;  // Definitions that refer to each other would never end.

std::string_view identifier_at(std::string_view text, std::size_t at) {
  auto end = at;
  while (end < text.size() && continues_identifier(text[end])) ++end;
  return text.substr(at, end - at);
}

// The arguments of a call whose bracket opens at `at`. Moves `at` behind the closing bracket; nothing if there is none.
std::optional<std::vector<std::string_view>> arguments_at(std::string_view text, std::size_t& at) {
  std::vector<std::string_view> arguments;
  auto begin = at + 1;
  int depth = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '(') ++depth;
    const bool closes = c == ')' && --depth == 0;
    if (!closes && !(c == ',' && depth == 1)) continue;
    arguments.push_back(trimmed(text.substr(begin, at - begin)));
    begin = at + 1;
    if (!closes) continue;
    ++at;
    return arguments;
  }
  return std::nullopt;
}

// The body of a function-like macro with its arguments in the places of its parameters. Nothing if it pastes or quotes, or
// the call has another number of arguments.
std::optional<std::string> substitute(const MacroBody& macro,
                                      const std::vector<std::string_view>& arguments) {
  if (macro.text.find('#') != std::string::npos || macro.text.find("%:") != std::string::npos)
    return std::nullopt;
  if (arguments.size() != std::max<std::size_t>(macro.parameters.size(), 1)) return std::nullopt;
  const std::string_view body = macro.text;
  std::string text;
  for (std::size_t at = 0; at < body.size();) {
    if (!begins_identifier(body[at])) {
      text += body[at++];
      continue;
    }
    const auto word = identifier_at(body, at);
    at += word.size();
    const auto parameter = std::find(macro.parameters.begin(), macro.parameters.end(), word);
    text += parameter == macro.parameters.end()
                ? word
                : arguments[static_cast<std::size_t>(parameter - macro.parameters.begin())];
  }
  return text;
}

class Expansion {
 public:
  explicit Expansion(const std::vector<const MacroBodies*>& macros) : macros_(macros) {}

  // Every text that `text` might expand to. Nothing if nobody can tell.
  std::optional<Texts> expand(std::string_view text, int depth = 0) {
    if (depth > deepest_expansion || --steps_left_ < 0) return std::nullopt;
    Texts results{""};
    for (std::size_t at = 0; at < text.size();) {
      auto pieces = begins_identifier(text[at]) ? expand_word(text, at, depth)
                                                : std::optional(Texts{std::string(1, text[at++])});
      if (!pieces) return std::nullopt;
      Texts longer;
      for (const auto& head : results) {
        for (const auto& piece : *pieces) longer.insert(head + piece);
      }
      if (longer.size() > most_expansions) return std::nullopt;
      results = std::move(longer);
    }
    return results;
  }

  [[nodiscard]] bool defines(std::string_view name) const { return !bodies_of(name).empty(); }

 private:
  // Moves `at` behind the word, and behind its arguments if it is called.
  std::optional<Texts> expand_word(std::string_view text, std::size_t& at, int depth) {
    const auto word = identifier_at(text, at);
    at += word.size();
    const auto bodies = bodies_of(word);
    // The compiler's own macros have such names, and no text defines them.
    if (bodies.empty() && word.starts_with('_')) return std::nullopt;
    if (bodies.empty()) return Texts{std::string(word)};
    const bool called = at < text.size() && text[at] == '(';
    std::vector<std::string_view> arguments;
    if (called) {
      auto given = arguments_at(text, at);
      if (!given) return std::nullopt;
      arguments = std::move(*given);
    }
    Texts pieces;
    for (const auto* macro : bodies) {
      if (macro->function_like != called) return std::nullopt;
      const auto body = called ? substitute(*macro, arguments) : std::optional(macro->text);
      const auto expanded = body ? expand(*body, depth + 1) : std::nullopt;
      if (!expanded) return std::nullopt;
      pieces.insert(expanded->begin(), expanded->end());
    }
    return pieces;
  }

  // What all texts together define the name to.
  [[nodiscard]] std::vector<const MacroBody*> bodies_of(std::string_view name) const {
    std::vector<const MacroBody*> bodies;
    for (const auto* of_text : macros_) {
      const auto [first, last] = of_text->equal_range(name);
      for (auto body = first; body != last; ++body) bodies.push_back(&body->second);
    }
    return bodies;
  }

  const std::vector<const MacroBodies*>& macros_;
  int steps_left_ = most_steps;
};

bool is_header_name(std::string_view text) {
  return text.size() > 2 && ((text.front() == '<' && text.back() == '>') ||
                             (text.front() == '"' && text.back() == '"'));
}

}  // namespace

std::vector<std::string> expand_include_macro(std::string_view operand,
                                              const std::vector<const MacroBodies*>& macros) {
  Expansion expansion(macros);
  if (!expansion.defines(identifier_at(operand, 0))) return {};
  const auto expanded = expansion.expand(operand);
  if (!expanded) return {};
  std::vector<std::string> spellings;
  for (const auto& text : *expanded) {
    const auto spelling = trimmed(text);
    if (!is_header_name(spelling)) return {};
    spellings.emplace_back(spelling);
  }
  return spellings;
}

// -DNAME=BODY is a definition like any other.
MacroBodies macros_of_options(const std::vector<std::string>& options) {
  std::string definitions;
  bool value_follows = false;
  for (const std::string_view option : options) {
    std::string definition;
    for (const std::string_view flag : {"--define-macro=", "-define-macro=", "-D"}) {
      if (option.starts_with(flag)) definition = option.substr(flag.size());
    }
    if (value_follows) definition = option;
    value_follows = option == "-D" || option == "--define-macro" || option == "-define-macro";
    const auto equals = definition.find('=');
    if (equals == std::string::npos) continue;
    definition[equals] = ' ';
    definitions.append("#define ").append(definition).push_back('\n');
  }
  return read_macros(definitions);
}

bool is_before_raw_strings(std::string_view option) {
  return option.ends_with("++03") || option.ends_with("++98") || option.ends_with("++0x");
}

}  // namespace kiln
