#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "source/scanner.h"

namespace kiln {

/// The call, or the initialiser, that is open at a place in a text, and which of its arguments stands there.
struct OpenCall {
  std::string_view name;  ///< Empty where it has none, or where there is no call nearby.
  std::size_t argument = 0;
  bool braced = false;
  std::string_view template_arguments = {};
  std::string_view earlier = {};  ///< The arguments before, with their commas.
  std::string_view before =
      {};  ///< What stands before the call, and what its name is qualified with.
};

/// What stands before a place since the last statement or directive, with what says of the directive which one it is.
[[nodiscard]] std::string_view lead_of(std::string_view text, std::size_t at);

/// Whether a lead in this text is that of a directive; one that defines no macro declares nothing.
[[nodiscard]] bool is_of_directive(std::string_view text, std::string_view lead);

/// The macro in whose definition a place with that lead is; empty where it is in none.
[[nodiscard]] std::string_view macro_defined_by(std::string_view lead);

/// What follows on a place with that lead: in a definition of a macro up to its end, else all.
[[nodiscard]] std::string_view rest_behind(std::string_view text, std::size_t at,
                                           std::string_view lead);

/// Whether the name of a function may follow on such a lead: it is a type, or specifiers, or nothing, and no sign of an expression.
[[nodiscard]] bool may_declare(std::string_view lead);

/// Whether the name of something that is declared follows, and not a call: a type stands there.
[[nodiscard]] bool declares(std::string_view lead);

/// Whether the call is none, but initialises a variable of its name: `const Place here(file, line)`.
[[nodiscard]] bool initialises(const OpenCall& call);

/// Whether `before` ends in `<<`, and what stands there is streamed as it is. The scanner stands behind it.
[[nodiscard]] bool is_streamed(std::string_view before, Scanner behind);

/// Whether what is called can be told by its name alone: it is no keyword, and has no arguments for a template.
[[nodiscard]] bool is_told_by_name(const OpenCall& call);

/// The arguments before, where they hold a name or stand for several; else nothing.
[[nodiscard]] std::string names_before(const OpenCall& call);

/// Whether it is a pragma's message: `#pragma message(...)`, `DO_PRAGMA(message(...))`.
[[nodiscard]] bool is_message_of_pragma(const OpenCall& call);

/// What is open at the end of `before`. In a definition no end of a line is passed.
[[nodiscard]] OpenCall open_call(std::string_view before, bool in_definition);

/// Whether what stands between them is a whole argument: alone, or part of a literal with those beside it (`"at " __FILE__ ":"`).
/// Sets `in_literal` where there are such. The scanner stands behind it, and then behind the argument.
[[nodiscard]] bool is_whole_argument(std::string_view before, Scanner& behind, bool& in_literal);

}  // namespace kiln
