#include "source/path_takers.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "source/characters.h"
#include "source/open_call.h"
#include "source/scanner.h"
#include "source/text_search.h"

namespace kiln {

namespace {

constexpr auto none = std::string_view::npos;

/// What looks like a call and is none, or is one that computes.
constexpr std::array<std::string_view, 12> no_calls{
    "if",       "while",    "for",           "switch",  "return",  "sizeof",
    "decltype", "noexcept", "static_assert", "alignas", "alignof", "defined"};

/// What these make of it is still the place.
constexpr std::array<std::string_view, 6> hand_on{
    "forward", "move", "static_cast", "const_cast", "reinterpret_cast", "dynamic_cast"};

/// Behind one of these, a name is no variable.
constexpr std::array<std::string_view, 22> before_types{
    "struct",  "class",     "enum",    "union",  "typename", "namespace", "using", "friend",
    "public",  "protected", "private", "return", "throw",    "new",       "goto",  "case",
    "virtual", "const",     "delete",  "else",   "operator", "volatile"};

/// Whether `look` holds of a place where this name stands in code, and not in a literal.
bool any_use(std::string_view code, std::string_view name,
             const std::function<bool(std::size_t at)>& look) {
  for (Scanner scanner(code); !scanner.done();) {
    const auto at = scanner.position();
    scanner.skip_word_or_token();
    if (scanner.since(at) == name && look(at)) return true;
  }
  return false;
}

/// The only name that a text consists of, its last part; empty for any other text.
std::string_view only_name(std::string_view text) {
  const bool is_name = !text.empty() && std::ranges::all_of(text, [](char c) {
    return continues_identifier(c) || c == ':' || is_space(c);
  });
  return is_name ? Scanner::last_word(text) : std::string_view();
}

/// Whether it is a line that declares nothing.
bool is_of_directive(std::string_view lead) {
  constexpr std::array<std::string_view, 10> directives{
      "if", "ifdef", "ifndef", "elif", "undef", "pragma", "error", "warning", "include", "line"};
  Scanner scanner(lead);
  return is_one_of(scanner.identifier(), directives);
}

/// Whether a variable, a parameter or another name for something is declared here.
bool is_variable(std::string_view lead, std::string_view rest) {
  if (rest.starts_with('=')) return !rest.starts_with("==");
  const bool is_object = rest.starts_with('.') && !rest.starts_with("...");
  if (is_object || rest.starts_with("->")) return true;
  if (rest.empty() || rest.starts_with("::") ||
      std::string_view(";{,)[:").find(rest.front()) == none)
    return false;
  if (lead.ends_with("->")) return false;
  if (lead.ends_with('>') || lead.ends_with('*') || lead.ends_with('&')) return true;
  const auto word = Scanner::last_word(lead);
  return !word.empty() && !is_one_of(word, before_types);
}

/// Whether a class of this name is defined here.
bool begins_class(std::string_view lead, std::string_view rest) {
  const auto word = Scanner::last_word(lead);
  return (word == "struct" || word == "class") &&
         (rest.starts_with('{') || rest.starts_with(':') || rest.starts_with("final"));
}

/// A parameter as the argument at a position finds it; nothing where there is none.
struct GivenParameter {
  std::string_view name;   ///< Empty where it has none.
  std::size_t offset = 0;  ///< The argument's position in what a variadic one stands for.
};

bool is_variadic(std::string_view parameter) { return holds(parameter, "..."); }

/// `name_of` gives a parameter's name.
template <class Texts, class NameOf>
std::optional<GivenParameter> parameter_at(const Texts& parameters, std::size_t argument,
                                           const NameOf& name_of) {
  const bool variadic = !parameters.empty() && is_variadic(parameters.back());
  const auto fixed = parameters.size() - (variadic ? 1 : 0);
  if (argument < fixed) return GivenParameter{name_of(parameters[argument])};
  if (variadic) return GivenParameter{name_of(parameters.back()), argument - fixed};
  return std::nullopt;
}

std::string_view name_in_macro(std::string_view parameter) {
  if (!parameter.ends_with("...")) return parameter;
  parameter.remove_suffix(3);
  parameter = without_space(parameter);
  return parameter.empty() ? "__VA_ARGS__" : parameter;
}

std::string_view name_in_function(std::string_view parameter) {
  return Scanner::last_word(without_space(parameter.substr(0, parameter.find('='))));
}

/// Whether nothing is done with it: `(void)file;`, or a cast of it that is a statement of its own.
bool is_dropped(std::string_view before, char behind) {
  return behind == ';' && (before.empty() || before.ends_with("(void)") ||
                           std::string_view(";{}").find(before.back()) != none);
}

/// Then whoever uses the macro says what is called.
bool is_parameter_of(const MacroBody* macro, std::string_view name) {
  return macro != nullptr && std::ranges::find(macro->parameters, name) != macro->parameters.end();
}

/// A function with its text.
struct FunctionText {
  std::vector<std::string_view> parameters = {};
  std::string_view body = {};  ///< With what initialises its members.
};

/// The scanner stands at the bracket behind a function's name, and then behind its parameters. False where they cannot be told apart.
bool read_parameters(Scanner& scanner, std::vector<std::string_view>& parameters) {
  int depth = 0;
  int angles = 0;
  scanner.advance();
  for (auto begin = scanner.position(); !scanner.done(); scanner.skip_word_or_token()) {
    const char c = scanner.peek();
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == '<') ++angles;
    if (c == '>') --angles;
    const bool ends = c == ')' && depth == 0;
    if (ends || (c == ',' && depth == 0 && angles == 0)) {
      parameters.push_back(without_space(scanner.since(begin)));
      begin = scanner.position() + 1;
    }
    if (ends) {
      scanner.advance();
      return angles == 0;
    }
    if (c == ')' || c == ']' || c == '}') --depth;
  }
  return false;
}

/// Over a text in braces; the scanner stands at the first one.
void skip_braced(Scanner& scanner) {
  int depth = 0;
  do {
    if (scanner.peek() == '{') ++depth;
    if (scanner.peek() == '}') --depth;
    scanner.skip_word_or_token();
  } while (!scanner.done() && depth > 0);
}

/// Up to the function's end; empty where it is only declared.
std::string_view read_body(Scanner& scanner) {
  const auto begin = scanner.position();
  for (;;) {
    while (!scanner.done() && std::string_view("{;=").find(scanner.peek()) == none)
      scanner.skip_word_or_token();
    if (scanner.peek() != '{') return scanner.done() ? scanner.since(begin) : std::string_view();
    skip_braced(scanner);
    scanner.skip_space();
    // Members may be initialised in braces.
    if (scanner.peek() != ',' && scanner.peek() != '{') return scanner.since(begin);
  }
}

/// One with a text. Without, what it is given becomes its members.
bool has_constructor(std::string_view text, std::string_view name) {
  return any_use(text, name, [&](std::size_t at) {
    const auto rest = without_space(text.substr(at + name.size()));
    if (!rest.starts_with('(') || !may_declare(without_space(lead_of(text, at)))) return false;
    Scanner scanner(rest);
    FunctionText function;
    return read_parameters(scanner, function.parameters) && !read_body(scanner).empty();
  });
}

}  // namespace

PathTakers::PathTakers(std::vector<const HeaderText*> texts, const MacroBodies& of_options)
    : texts_(std::move(texts)), macros_{&of_options} {
  for (const auto* text : texts_) macros_.push_back(&text->macros());
}

bool PathTakers::compute(const PathTaker& taker) {
  if (is_one_of(taker.name, no_calls)) return true;
  if (!asked_.insert(taker).second) return false;
  if (macros_compute(taker)) return true;
  return std::ranges::any_of(texts_, [&](const HeaderText* text) {
    return holds(text->text, taker.name) && text_computes(text->code(), taker);
  });
}

bool PathTakers::macros_compute(const PathTaker& taker) {
  return std::ranges::any_of(macros_, [&](const MacroBodies* macros) {
    const auto [begin, end] = macros->equal_range(taker.name);
    return std::any_of(begin, end,
                       [&](const auto& macro) { return computes(macro.second, taker); });
  });
}

bool PathTakers::computes(const MacroBody& macro, const PathTaker& taker) {
  if (!macro.function_like) {
    const auto name = only_name(without_space(macro.text));
    return name.empty() || compute({std::string(name), taker.argument});
  }
  const auto parameter = parameter_at(macro.parameters, taker.argument, name_in_macro);
  if (!parameter) return true;
  return any_use(macro.text, parameter->name, [&](std::size_t at) {
    return use_computes({macro.text, at, parameter->name, parameter->offset, &macro});
  });
}

// `text` begins with the bracket behind the function's name.
bool PathTakers::function_computes(std::string_view text, const PathTaker& taker) {
  Scanner scanner(text);
  FunctionText function;
  if (!read_parameters(scanner, function.parameters)) return true;
  function.body = read_body(scanner);
  if (function.body.empty()) return false;
  const auto parameter = parameter_at(function.parameters, taker.argument, name_in_function);
  // With so many arguments, another one is called.
  if (!parameter) return false;
  const auto declared =
      function.parameters[std::min(taker.argument, function.parameters.size() - 1)];
  if (parameter->name.empty()) return holds(declared, "[") || declared == "...";
  return any_use(function.body, parameter->name, [&](std::size_t at) {
    return use_computes({function.body, at, parameter->name, parameter->offset, nullptr});
  });
}

bool PathTakers::use_computes(const Use& use) {
  auto before = without_space(use.text.substr(0, use.at));
  Scanner behind(use.text);
  behind.go_back_to(use.at + use.name.size());
  if (before.ends_with("##")) {
    // `, ##__VA_ARGS__` only drops a comma.
    before = without_space(before.substr(0, before.size() - 2));
    if (!before.ends_with(',')) return true;
  } else if (use.macro != nullptr && before.ends_with('#')) {
    return false;
  }
  for (;;) {
    behind.skip_space();
    while (behind.rest().starts_with("...")) {
      for (int point = 0; point < 3; ++point) behind.advance();
      behind.skip_space();
    }
    if (before.ends_with("<<") || behind.rest().starts_with("<<")) return false;
    if (is_dropped(before, behind.peek())) return false;
    bool in_literal = false;
    if (behind.rest().starts_with("##") || !is_whole_argument(before, behind, in_literal))
      return true;
    const auto call = open_call(before, use.macro != nullptr);
    if (call.name == "message") return false;
    if (call.name.empty() && call.before.ends_with("(void)")) return false;
    if (call.name.empty() || call.braced || initialises(call) ||
        is_parameter_of(use.macro, call.name))
      return true;
    if (!is_one_of(call.name, hand_on) || behind.peek() != ')')
      return compute({std::string(call.name), call.argument + use.offset});
    before = without_space(call.before);
    behind.advance();
  }
}

bool PathTakers::text_computes(std::string_view text, const PathTaker& taker) {
  const std::string_view name = taker.name;
  return any_use(text, name, [&](std::size_t at) {
    const auto lead = without_space(lead_of(text, at));
    // A macro is asked for by itself.
    if (lead == "define" || is_of_directive(lead)) return false;
    const auto rest = without_space(text.substr(at + name.size()));
    if (!rest.starts_with('('))
      return is_variable(lead, rest) || (begins_class(lead, rest) && !has_constructor(text, name));
    return may_declare(lead) && function_computes(rest, taker);
  });
}

}  // namespace kiln
