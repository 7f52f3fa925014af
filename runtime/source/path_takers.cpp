#include "source/path_takers.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "source/characters.h"
#include "source/open_call.h"
#include "source/scanner.h"
#include "source/text_search.h"

namespace kiln {

namespace {

constexpr auto none = std::string_view::npos;
constexpr std::string_view word_of_operators = "operator";

/// What is looked at before it is given up: characters, and functions that give a place on to each other. Some tenths of a second,
/// and what any thread's stack holds.
constexpr std::size_t most_work = 64 << 20;
constexpr std::size_t most_deep = 48;

/// What these make of it is still the place.
constexpr std::array<std::string_view, 6> hand_on{
    "forward", "move", "static_cast", "const_cast", "reinterpret_cast", "dynamic_cast"};

/// Behind one of these, a name is no variable.
constexpr std::array<std::string_view, 22> before_types{
    "struct",  "class",     "enum",    "union",  "typename", "namespace", "using", "friend",
    "public",  "protected", "private", "return", "throw",    "new",       "goto",  "case",
    "virtual", "const",     "delete",  "else",   "operator", "volatile"};

/// The only name that a text consists of, its last part; empty for any other text.
std::string_view only_name(std::string_view text) {
  const bool is_name = !text.empty() && std::ranges::all_of(text, [](char c) {
    return continues_identifier(c) || c == ':' || is_space(c);
  });
  return is_name ? Scanner::last_word(text) : std::string_view();
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

/// Whether it is the name of one of the compiler's own functions, or of the C library's that it may know, and of none that only
/// reports.
bool is_of_compiler(std::string_view name) {
  constexpr std::array<std::string_view, 15> of_strings{
      "memcpy", "memmove", "memcmp", "memchr", "strlen",  "strnlen", "strcmp", "strncmp",
      "strcpy", "strncpy", "strcat", "strchr", "strrchr", "strstr",  "strtol"};
  return (name.starts_with("__") && !name.starts_with("__assert")) || is_one_of(name, of_strings);
}

/// Whether code may define how something is streamed. Few texts do, and to walk each that defines any operator takes long.
bool may_define_streaming(std::string_view code) {
  while (true) {
    const auto at = place_of(code, word_of_operators);
    if (at == none) return false;
    code = code.substr(at + word_of_operators.size());
    if (without_space(code).starts_with("<<")) return true;
  }
}

bool is_declared(std::string_view code, std::string_view name) {
  return any_use(code, name, [&](std::size_t at) {
    return without_space(code.substr(at + name.size())).starts_with('(') &&
           declares(without_space(lead_of(code, at)));
  });
}

std::string_view name_in_macro(std::string_view parameter) {
  if (!parameter.ends_with("...")) return parameter;
  parameter.remove_suffix(3);
  parameter = without_space(parameter);
  return parameter.empty() ? "__VA_ARGS__" : parameter;
}

/// Whether nothing is done with it: `(void)file;`, or a cast of it that is a statement of its own.
bool is_dropped(std::string_view before, char behind) {
  return behind == ';' && !before.empty() &&
         (before.ends_with("(void)") || std::string_view(";{}").find(before.back()) != none);
}

/// Whether nothing is declared, but said of a name: `using a::f;`, `class f;`.
bool is_mention(std::string_view lead, std::string_view rest) {
  if (!rest.starts_with(';') || holds(lead, "template")) return false;
  constexpr std::array<std::string_view, 5> words{"using", "class", "struct", "friend", "typename"};
  Scanner scanner(lead);
  return is_one_of(scanner.identifier(), words);
}

/// Whether the arguments before hold what a macro was given more than one of.
bool holds_variadic_of(const MacroBody* macro, std::string_view earlier) {
  if (macro == nullptr || macro->parameters.empty()) return false;
  const std::string_view last = macro->parameters.back();
  if (!last.ends_with("...")) return false;
  return !find_word(earlier, [&](std::string_view word) {
            return word == name_in_macro(last);
          }).empty();
}

/// Without a constructor, what the class is given becomes its members.
bool has_constructor(std::string_view rest, std::string_view name) {
  const auto body = class_body(rest);
  // A base's may be taken over.
  const bool inherits = any_use(body, "using", [&](std::size_t at) {
    const auto statement = body.substr(at, body.find(';', at) - at);
    return !holds(statement, "=");
  });
  if (inherits) return false;
  return any_use(body, name, [&](std::size_t at) {
    const auto lead = without_space(lead_of(body, at));
    const auto behind = without_space(body.substr(at + name.size()));
    if (!behind.starts_with('(') || lead.ends_with('~') || !may_declare(lead)) return false;
    const auto end = read_function(lead, behind).end;
    return end == '}' || end == ';';
  });
}

}  // namespace

bool PathTakers::compute(const PathUses& uses) {
  if (uses.computes) return true;
  return std::ranges::any_of(uses.macros, [&](const auto& name) { return texts_.use(name); }) ||
         std::ranges::any_of(uses.given, [&](const GivenPath& path) {
           return computes_by_itself(path.to) && (path.macro.empty() || texts_.use(path.macro));
         });
}

// Of one that computes, what it was asked for on the way is not known.
bool PathTakers::computes_by_itself(const PathTaker& taker) {
  const auto [known, is_new] = known_.try_emplace(taker);
  if (is_new) {
    known->second = compute(taker);
    if (known->second) asked_.clear();
  }
  return known->second;
}

bool PathTakers::compute(const PathTaker& taker) {
  if (!asked_.insert(taker).second) return false;
  if (depth_ == most_deep || work_ > most_work) return true;
  ++depth_;
  const bool computing = is_computing(taker);
  --depth_;
  return computing;
}

bool PathTakers::is_computing(const PathTaker& taker) {
  if (texts_.stands_for_several(taker.earlier)) return true;
  if (texts_.has_digraphs()) return true;
  if (taker.name == stream) return streams_compute();
  const auto macro_computes = [&](const MacroBody& macro) { return computes(macro, taker); };
  if (texts_.any_macro(taker.name, macro_computes) || made_functions_compute(taker)) return true;
  bool known = texts_.is_macro(taker.name) || !is_of_compiler(taker.name);
  for (const auto* text : texts_.all()) {
    if (!texts_.may_hold(*text, taker.name)) continue;
    if (text_computes(*text, taker)) return true;
    known = known || is_declared(texts_.code_of(*text), taker.name);
  }
  return !known;
}

bool PathTakers::any_computes(const std::vector<std::string_view>& classes) {
  return std::ranges::any_of(classes, [&](std::string_view name) {
    return compute({std::string(name), 0});
  });
}

bool PathTakers::made_functions_compute(const PathTaker& taker) {
  if (!made_functions_) made_functions_ = find_made_functions(texts_);
  return std::ranges::any_of(*made_functions_, [&](const MadeFunction& function) {
    return (function.is_open || function_computes(function.lead, function.text, taker)) &&
           may_be_named(function, taker.name, texts_);
  });
}

bool PathTakers::computes(const MacroBody& macro, const PathTaker& taker) {
  if (!macro.function_like) {
    const auto name = only_name(without_space(macro.text));
    return name.empty() || compute({std::string(name), taker.argument});
  }
  const auto parameter = parameter_at(macro.parameters, taker.argument);
  if (!parameter) return true;
  const auto name = name_in_macro(parameter->declared);
  return any_use(macro.text, name, [&](std::size_t at) {
    return use_computes({macro.text, at, name, parameter->offset, &macro});
  });
}

// `text` begins with the bracket behind the function's name.
bool PathTakers::function_computes(std::string_view lead, std::string_view text,
                                   const PathTaker& taker) {
  const auto function = read_function(lead, text);
  work_ += lead.size() + function.in_brackets.size() + function.behind.size();
  const bool in_macro = lead.starts_with("define");
  if (lead.ends_with("(*") || lead.ends_with("(&")) return true;
  const bool is_parameter = function.end == ')' || function.end == ',' || function.end == ']';
  if (is_parameter && !in_macro && declares(lead)) return true;
  if (!function.has_body() && !declares(lead)) {
    // A call, unless a macro makes something else of it.
    return !find_word(function.tail(),
                      [&](std::string_view word) { return texts_.opens_body(word); })
                .empty() ||
           (holds(function.tail(), "#") && !in_macro);
  }
  const auto parameters = parameters_of(function);
  if (!parameters || function.end == '\0' || !has_plain_tail(function)) return true;
  const auto parameter = parameter_at(*parameters, taker.argument);
  // With so many arguments, another one is called.
  if (!parameter) return false;
  const auto is_pack_before_others = [&](std::string_view each) {
    return holds(each, "...") && each != parameters->back();
  };
  const auto is_made_by_macro = [&](std::string_view word) { return texts_.is_macro(word); };
  return type_computes(function, parameter->declared) ||
         std::ranges::any_of(*parameters, is_pack_before_others) ||
         !find_word(function.in_brackets, is_made_by_macro).empty() ||
         holds(function.in_brackets, "#") || body_computes(function, *parameter);
}

// A length that is deduced stands in the function's name too, where it is compiled to one of its own.
bool PathTakers::type_computes(const FunctionText& function, std::string_view declared) {
  const bool may_be_array = declared.find_first_of("&[") != none &&
                            (is_deduced(function, declared) || holds(declared, "auto"));
  return uses_deduced_type(function, declared) ||
         (may_be_array && function.has_body() && !is_of_host(function)) ||
         (function.has_body() && holds(declared, ">::")) ||
         any_computes(classes_named(function, declared));
}

bool PathTakers::body_computes(const FunctionText& function, const GivenParameter& parameter) {
  if (!function.has_body()) return false;
  const auto declared = parameter.declared;
  const auto name = name_in_function(declared);
  const auto type = declared.substr(declared.starts_with("[[") ? declared.find("]]") + 2 : 0);
  if (holds_rare(type, "[")) return true;
  if (name.empty()) return holds_rare(type, "(") || type == "...";
  const auto hides_use = [&](std::string_view word) {
    return word == "include" || texts_.macro_has(word, name);
  };
  if (!find_word(function.behind, hides_use).empty()) return true;
  return any_use(function.behind, name, [&](std::size_t at) {
    return use_computes({function.behind, at, name, parameter.offset, nullptr});
  });
}

// What is streamed is the last parameter. Without the stream's class, nobody compiles it.
bool PathTakers::stream_computes(std::string_view lead, std::string_view text) {
  const auto function = read_function(lead, text);
  const auto parameters = parameters_of(function);
  if (!parameters) return function.has_body();
  const auto to = classes_named(function, parameters->front());
  const bool is_compiled =
      parameters->size() < 2 || to.empty() ||
      std::ranges::any_of(to, [&](std::string_view name) { return texts_.is_class(name, true); });
  const auto declared = parameters->back();
  const auto classes = classes_named(function, declared);
  const bool is_pointer = holds_rare(declared, "*") || holds_rare(declared, "[");
  const bool is_number =
      classes.empty() && !is_pointer && !holds(declared, "auto") && !is_deduced(function, declared);
  const bool is_other_class =
      !classes.empty() && !is_pointer && std::ranges::all_of(classes, [&](std::string_view name) {
        return texts_.is_class(name, false);
      });
  return is_compiled && !is_number && !is_other_class && !holds_rare(declared, "(*") &&
         function_computes(lead, text, {"", parameters->size() - 1});
}

bool PathTakers::streams_compute() {
  const auto writes_operator = [](const auto& macro) {
    const std::string_view text = macro.second.text;
    return holds(text, "operator<<") || holds(text, "operator <<") ||
           without_space(text).ends_with("operator");
  };
  const auto write_operator = [&](const MacroBodies* macros) {
    return std::ranges::any_of(*macros, writes_operator);
  };
  if (std::ranges::any_of(texts_.macros(), write_operator)) return true;
  return std::ranges::any_of(texts_.all(), [&](const HeaderText* text) {
    if (!texts_.may_hold(*text, word_of_operators)) return false;
    const auto code = texts_.code_of(*text);
    if (!may_define_streaming(code)) return false;
    return any_use(code, word_of_operators, [&](std::size_t at) {
      auto rest = without_space(code.substr(at + word_of_operators.size()));
      if (!rest.starts_with("<<")) return false;
      rest = without_space(rest.substr(2));
      return rest.starts_with('(') && stream_computes(without_space(lead_of(code, at)), rest);
    });
  });
}

// Whether an own function of this name gives something else than a reference to what it is given.
bool PathTakers::makes_another(std::string_view name) {
  return std::ranges::any_of(texts_.own(), [&](const HeaderText* text) {
    if (!texts_.may_hold(*text, name)) return false;
    const auto code = texts_.code_of(*text);
    return any_use(code, name, [&](std::size_t at) {
      const auto lead = without_space(lead_of(code, at));
      const auto rest = without_space(code.substr(at + name.size()));
      if (!rest.starts_with('(') || !declares(lead) || lead.ends_with('&')) return false;
      const auto function = read_function(lead, rest);
      const auto parameters = parameters_of(function);
      return function.has_body() && (!parameters || parameters->size() == 1);
    });
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
    before = without_space(before.substr(0, before.size() - 1));
  }
  for (;;) {
    behind.skip_space();
    while (behind.rest().starts_with("...")) {
      for (int point = 0; point < 3; ++point) behind.advance();
      behind.skip_space();
    }
    if (is_streamed(before, behind)) return compute({std::string(stream)});
    if (is_dropped(before, behind.peek())) return false;
    bool in_literal = false;
    if (behind.rest().starts_with("##") || !is_whole_argument(before, behind, in_literal))
      return true;
    const auto call = open_call(before, use.macro != nullptr);
    if (is_message_of_pragma(call)) return false;
    if (call.name.empty() && call.before.ends_with("(void)")) return false;
    const bool hands_on =
        is_one_of(call.name, hand_on) && !call.braced && !makes_another(call.name);
    if ((!hands_on && !is_told_by_name(call)) || call.before.ends_with('#') || initialises(call) ||
        (use.macro != nullptr && use.macro->takes(call.name)) ||
        holds_variadic_of(use.macro, call.earlier))
      return true;
    if (!hands_on || behind.peek() != ')')
      return compute({std::string(call.name), call.argument + use.offset, names_before(call)});
    if (call.name.ends_with("_cast") && any_computes(classes_named({}, call.template_arguments)))
      return true;
    before = without_space(call.before);
    behind.advance();
  }
}

bool PathTakers::text_computes(const HeaderText& text, const PathTaker& taker) {
  const auto code = texts_.code_of(text);
  const bool own = texts_.is_own(text);
  work_ += code.size();
  return any_use(code, taker.name, [&](std::size_t at) {
    return work_ > most_work || occurrence_computes(code, at, taker) ||
           (own && is_unknown(code, at, taker.name));
  });
}

bool PathTakers::occurrence_computes(std::string_view text, std::size_t at,
                                     const PathTaker& taker) {
  const auto lead = without_space(lead_of(text, at));
  if (is_of_directive(text, lead) && !lead.starts_with("define ")) return false;
  const auto rest = behind_template_arguments(rest_behind(text, at + taker.name.size(), lead));
  if (rest.starts_with('(')) return function_computes(lead, rest, taker);
  if (rest.empty() && lead.starts_with("define")) {
    // The function may be defined by the macro's name.
    return compute({std::string(macro_defined_by(lead)), taker.argument});
  }
  if (begins_class(lead, rest))
    return holds(lead, "template") || !has_constructor(rest, taker.name);
  if (Scanner::last_word(lead) == "using" && rest.starts_with('=')) {
    const auto other = rest.substr(1, rest.find_first_of(";<") - 1);
    return any_computes(classes_named({lead, {}}, other));
  }
  return !is_class_mention(lead, rest) && is_variable(lead, rest);
}

// `class EXPORT name;`
bool PathTakers::is_class_mention(std::string_view lead, std::string_view rest) const {
  auto word = Scanner::last_word(lead);
  while (texts_.is_macro(word)) {
    lead = without_space(lead.substr(0, lead.size() - word.size()));
    word = Scanner::last_word(lead);
  }
  return rest.starts_with(';') && (word == "class" || word == "struct" || word == "union");
}

// Whether an own text has the name where it is none that is called, declared or only mentioned.
bool PathTakers::is_unknown(std::string_view text, std::size_t at, std::string_view name) {
  const auto lead = without_space(lead_of(text, at));
  if (is_of_directive(text, lead) && !lead.starts_with("define ")) return false;
  const auto rest = behind_template_arguments(rest_behind(text, at + name.size(), lead));
  if (rest.starts_with('(') || rest.starts_with("::") || begins_class(lead, rest) ||
      is_mention(lead, rest) || is_class_mention(lead, rest) ||
      (rest.empty() && lead.starts_with("define")))
    return false;
  Scanner behind(rest);
  if (behind.peek() == '=' && Scanner::last_word(lead) == "using") return false;
  if (begins_identifier(behind.peek())) return texts_.is_macro(behind.identifier());
  if (std::string_view("&*").find(behind.peek()) != none) return false;
  return std::string_view(">,){").find(behind.peek()) == none || !texts_.is_class(name, true);
}

}  // namespace kiln
