#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// An `#include` (or `__has_include`) as it is written.
struct IncludeDirective {
  enum class Form { quoted, angled, macro };

  std::string spelling;  ///< Between the quotes or angle brackets; else the operand as it stands.
  Form form;
  std::size_t position;  ///< Of the spelling in the text, for rewriting; 0 for a macro.
  std::size_t length;    ///< In the text, continued lines included; 0 for a macro.
  bool tested = false;   ///< Only asked for: an operand of `__has_include`.
  bool next = false;     ///< `#include_next`: the one that a search finds after the includer.
};

/// What one text says that bears on what it reads and on what its compile gives, with all
/// conditionals taken as true: more than the compiler will read, never less.
struct Directives {
  std::vector<IncludeDirective> includes;
  bool tells_time = false;  ///< Names `__DATE__`, `__TIME__` or `__TIMESTAMP__`.
  bool tells_path = false;  ///< Names `__FILE__`, `assert` or another teller of its own place.
  /// How many bytes come before the first token that belongs to no directive: what a precompiled header
  /// can hold.
  std::size_t prelude = 0;
  /// Names a thing whose meaning kiln does not follow, e.g. "__has_include_next".
  std::string unfollowed;
};

/// Reads a text. Knows comments, string and character literals, raw strings and line continuations.
[[nodiscard]] Directives read_directives(std::string_view text);

/// The bodies that object-like macros are defined to, over all branches. A function-like macro, whose
/// expansion kiln does not follow, has the body "(".
using MacroBodies = std::multimap<std::string, std::string, std::less<>>;

[[nodiscard]] MacroBodies read_macros(std::string_view text);

/// All spellings, with their quotes or brackets, that `#include name` might mean where these texts' macros
/// are defined; none if that cannot be told: a function-like or predefined macro, no definition, something
/// that is no header name whatever it is defined to, or too many.
[[nodiscard]] std::vector<std::string> expand_include_macro(
    std::string_view name, const std::vector<const MacroBodies*>& macros);

}  // namespace kiln
