#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "source/pieces.h"

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
  /// Identifiers that are pieces of a name that tells the time, and whether anything is pasted together (`##`).
  Words time_pieces;
  bool pastes = false;
  QuestionPieces question_pieces;  ///< Identifiers of which a question can be pasted together.
  /// How many bytes come before the first token that belongs to no directive: what a precompiled header
  /// can hold.
  std::size_t prelude = 0;
  /// Macros that ask for the header that is their only argument: `#define HAS(x) __has_include(x)`.
  std::vector<std::string> header_tests;
  /// Names a thing whose meaning kiln does not follow, e.g. "__has_include_next".
  std::string unfollowed;
};

/// Reads a text. Knows comments, string and character literals, raw strings and line continuations.
[[nodiscard]] Directives read_directives(std::string_view text);

/// What a macro is defined to in one place.
struct MacroBody {
  bool function_like = false;
  std::vector<std::string> parameters = {};
  std::string text = {};
};

/// What macros are defined to, over all branches.
using MacroBodies = std::multimap<std::string, MacroBody, std::less<>>;

[[nodiscard]] MacroBodies read_macros(std::string_view text);

}  // namespace kiln
