#include "source/macro_expansion.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "source/characters.h"
#include "source/compilers_macros.h"
#include "source/scanner.h"
#include "source/text_search.h"

namespace kiln {

namespace {

using Texts = std::set<std::string>;

constexpr std::size_t most_expansions = 256;
constexpr int deepest_expansion = 32;
constexpr char stays = '\x01';      // Marks a macro's name that is not expanded.
constexpr int most_steps = 10'000;  // Definitions that refer to each other would never end.

std::string_view identifier_at(std::string_view text, std::size_t at) {
  auto end = at;
  while (end < text.size() && continues_identifier(text[end])) ++end;
  return text.substr(at, end - at);
}

// The token that begins at `at`: an identifier, a number or a literal whole, any other character alone. No macro is expanded
// within a number or a literal.
std::string_view token_at(std::string_view text, std::size_t at) {
  if (begins_identifier(text[at])) return identifier_at(text, at);
  Scanner scanner(text.substr(at));
  scanner.skip_token();
  return scanner.since(0);
}

// The arguments of a call whose bracket opens at `at`. Moves `at` behind the closing bracket; nothing if there is none.
std::optional<std::vector<std::string_view>> arguments_at(std::string_view text, std::size_t& at) {
  std::vector<std::string_view> arguments;
  auto begin = at + 1;
  int depth = 0;
  while (at < text.size()) {
    const auto here = at;
    const auto token = token_at(text, here);
    at += token.size();
    if (token == "(") ++depth;
    const bool closes = token == ")" && --depth == 0;
    if (!closes && !(token == "," && depth == 1)) continue;
    arguments.push_back(trimmed(text.substr(begin, here - begin)));
    begin = at;
    if (closes) return arguments;
  }
  return std::nullopt;
}

// Whether a token would be read as one with what stands behind it, which a preprocessor keeps apart.
bool runs_into(std::string_view argument, std::string_view behind) {
  std::string_view last;
  for (std::size_t at = 0; at < argument.size(); at += last.size()) last = token_at(argument, at);
  const bool number = Scanner(last).at_number();
  if (behind.empty() || last.empty()) return last.empty();
  const bool continues = continues_identifier(behind.front()) ||
                         std::string_view(".'\"+-").find(behind.front()) != std::string_view::npos;
  return number ? continues : behind.front() == '"' || behind.front() == '\'';
}

// The body of a function-like macro with its arguments in the places of its parameters. Nothing if it is not followed, has
// a parameter for any number of arguments, the call has another number of them, or one of them is empty or would become
// another token there.
std::optional<std::string> substitute(const MacroBody& macro,
                                      const std::vector<std::string_view>& arguments) {
  if (!macro.parameters.empty() && macro.parameters.back().ends_with("...")) return std::nullopt;
  if (arguments.size() != std::max<std::size_t>(macro.parameters.size(), 1)) return std::nullopt;
  const std::string_view body = macro.text;
  std::string text;
  for (std::size_t at = 0; at < body.size();) {
    const auto word = token_at(body, at);
    at += word.size();
    const auto parameter = std::find(macro.parameters.begin(), macro.parameters.end(), word);
    if (parameter == macro.parameters.end()) {
      text += word;
      continue;
    }
    const auto argument = arguments[static_cast<std::size_t>(parameter - macro.parameters.begin())];
    const bool continues_point = text.ends_with('.') && !argument.empty() && is_digit(argument[0]);
    if (continues_point || runs_into(argument, body.substr(at))) return std::nullopt;
    text += argument;
  }
  return text;
}

class Expansion {
 public:
  explicit Expansion(const std::vector<const MacroBodies*>& macros) : macros_(macros) {}

  // Every text that `text` might expand to, with a mark before each macro's name that stays. Nothing if nobody can tell.
  std::optional<Texts> expand(std::string_view text, int depth = 0) {
    if (depth > deepest_expansion || --steps_left_ < 0) return std::nullopt;
    Texts results{""};
    for (std::size_t at = 0; at < text.size();) {
      auto pieces = expand_token(text, at, depth);
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
  // Moves `at` behind the token, and behind its arguments if it is called.
  std::optional<Texts> expand_token(std::string_view text, std::size_t& at, int depth) {
    const auto word = token_at(text, at);
    at += word.size();
    if (!begins_identifier(word.front())) return Texts{std::string(word)};
    const auto bodies = bodies_of(word);
    // A name with this beginning that no text defines can only be the compiler's.
    if (may_be_predefined(word) || (bodies.empty() && word.starts_with('_'))) return std::nullopt;
    if (bodies.empty()) return Texts{std::string(word)};
    const bool called = at < text.size() && text[at] == '(';
    const auto call = at;
    std::vector<std::string_view> arguments;
    if (called) {
      auto given = arguments_at(text, at);
      if (!given) return std::nullopt;
      arguments = std::move(*given);
    }
    // Where it is not defined, or no longer, its name stays.
    const auto behind = expand(text.substr(call, at - call), depth + 1);
    if (!behind) return std::nullopt;
    Texts pieces;
    for (const auto& rest : *behind) pieces.insert(stays + std::string(word) + rest);
    for (const auto* macro : bodies) {
      if (macro->function_like != called || is_beyond_following(macro->text)) return std::nullopt;
      const auto body = called ? substitute(*macro, arguments) : std::optional(macro->text);
      const auto expanded = body ? expand(*body, depth + 1) : std::nullopt;
      // Of nothing between two tokens the compiler may make a blank.
      if (!expanded || expanded->contains("")) return std::nullopt;
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

// What a preprocessor takes for a header's name, with its quotes or brackets; tokens behind it say nothing. Nothing if nobody
// can tell: how blanks and literals between brackets are spelled is the compiler's affair.
std::optional<std::string_view> header_name_of(std::string_view text) {
  const char close = text.starts_with('<') ? '>' : '"';
  if (text.empty() || (close == '"' && text.front() != '"')) return std::nullopt;
  const auto end = text.find(close, 1);
  if (end == std::string_view::npos || end == 1) return std::nullopt;
  const auto name = text.substr(0, end + 1);
  if (close == '"')
    return name.find('\\') == std::string_view::npos ? std::optional(name) : std::nullopt;
  // Between brackets each token stands for itself, and of `->` and `>>` the bracket closes nothing.
  const bool in_longer_token =
      std::string_view("-:%=<").find(name[end - 1]) != std::string_view::npos ||
      text.find_first_of(">=", end + 1) == end + 1;
  const bool clear = name.find_first_of(" \t\v\f\"'\\") == std::string_view::npos &&
                     !holds(name, "//") && !holds(name, "/*") && !holds(name, "?\?");
  return clear && !in_longer_token ? std::optional(name) : std::nullopt;
}

}  // namespace

// These beginnings and endings are those of all names that NVRTC 13.0 defines, but for those that are listed.
bool may_be_predefined(std::string_view name) {
  constexpr std::array<std::string_view, 6> of_headers{"NULL",    "assert", "va_arg",
                                                       "va_copy", "va_end", "va_start"};
  constexpr std::array<std::string_view, 10> beginnings{
      "__CUDA", "__cuda",  "__NV",        "__EDG",  "__GNUC",
      "__STDC", "__clang", "__cplusplus", "__cpp_", "__has_"};
  constexpr std::array<std::string_view, 11> others{"__ARRAY_OPERATORS",
                                                    "__CHAR16_T_AND_CHAR32_T",
                                                    "__EXCEPTIONS",
                                                    "__PLACEMENT_DELETE",
                                                    "__PRAGMA_REDEFINE_EXTNAME",
                                                    "__RTTI",
                                                    "__THROW",
                                                    "__VARIADIC_TEMPLATES",
                                                    "__cdecl",
                                                    "__is_identifier",
                                                    "__specialization_static"};
  if (is_one_of(name, of_headers) || is_compilers_macro(name)) return true;
  if (name.starts_with("cuda") && name.size() > 4 && name[4] >= 'A' && name[4] <= 'Z') return true;
  if (name.starts_with("CUDA") || name.starts_with("CU_")) return true;
  if (!name.starts_with('_')) return false;
  return !name.starts_with("__") || name.ends_with("__") || is_one_of(name, others) ||
         std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return name.starts_with(beginning); });
}

bool is_beyond_following(std::string_view body) {
  return body.find('#') != std::string_view::npos || holds(body, "%:") || holds(body, "?\?");
}

std::vector<std::string> expand_include_macro(std::string_view operand,
                                              const std::vector<const MacroBodies*>& macros) {
  Expansion expansion(macros);
  const bool begins_name = operand.starts_with('<') || operand.starts_with('"');
  if (!begins_name && !expansion.defines(identifier_at(operand, 0))) return {};
  const auto expanded = expansion.expand(operand);
  if (!expanded) return {};
  std::set<std::string> spellings;
  for (auto text : *expanded) {
    // No header's name begins so: the compiler refuses it.
    if (text.starts_with(stays)) continue;
    text.erase(std::remove(text.begin(), text.end(), stays), text.end());
    const auto spelling = header_name_of(trimmed(text));
    if (!spelling) return {};
    spellings.emplace(*spelling);
  }
  return {spellings.begin(), spellings.end()};
}

// -DNAME=BODY is a definition like any other, and -DNAME one of 1. Each is a text of its own.
MacroBodies macros_of_options(const std::vector<std::string>& options) {
  MacroBodies macros;
  bool value_follows = false;
  for (const std::string_view option : options) {
    std::string definition;
    for (const std::string_view flag : {"--define-macro=", "-define-macro=", "-D=", "-D"}) {
      if (definition.empty() && option.starts_with(flag)) definition = option.substr(flag.size());
    }
    if (value_follows) definition = option;
    value_follows = option == "-D" || option == "--define-macro" || option == "-define-macro";
    if (definition.empty()) continue;
    const auto equals = definition.find('=');
    if (equals == std::string::npos) {
      definition += " 1";
    } else {
      definition[equals] = ' ';
    }
    const auto text = "#define " + definition;
    macros.merge(read_macros(text, read_directives(text).definitions));
  }
  return macros;
}

bool is_before_raw_literals(std::string_view option) {
  return option.ends_with("++03") || option.ends_with("++98") || option.ends_with("++0x");
}

bool is_before_digit_separators(std::string_view option) {
  return is_before_raw_literals(option) || option.ends_with("++11");
}

}  // namespace kiln
