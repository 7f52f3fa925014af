#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
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
  std::size_t position;  ///< Of the opening quote in the text, for rewriting; 0 for a macro.
  std::size_t length;  ///< Up to behind the closing quote, continued lines included; 0 for a macro.
  bool tested = false;   ///< It is an operand of `__has_include`, not included.
  bool next = false;     ///< `#include_next`: the search goes on behind the includer's directory.
  bool wrapped = false;  ///< It stands in the call of a macro, which may ask for it.
  bool beside =
      false;  ///< It may be meant in the place of the name that follows, which stands there as it is.
};

/// A function or a macro, and which of its arguments is a place.
struct PathTaker {
  std::string name;
  std::size_t argument = 0;
  std::string earlier =
      {};  ///< The arguments before, where they hold a name: it may be a macro that stands for several.

  auto operator<=>(const PathTaker&) const = default;
};

/// Where a place is given to one.
struct GivenPath {
  std::string macro;  ///< In whose definition; empty in none.
  PathTaker to;

  auto operator<=>(const GivenPath&) const = default;
};

/// What a text does with its own place. What a macro does counts where it is used.
struct PathUses {
  bool computes = false;           ///< More than reporting it,
  Words macros = {};               ///< or one of these does.
  std::set<GivenPath> given = {};  ///< To what it gives its place and line to report.

  void add(const PathUses& other);
};

/// The name that whatever a place is streamed to goes by.
inline constexpr std::string_view stream = "<<";

/// What one text reads, and what it says that bears on the result of its compile. All conditionals are taken as true,
/// so it is more than the compiler will see, never less.
struct Directives {
  std::vector<IncludeDirective> includes;
  bool tells_time = false;  ///< Names `__DATE__`, `__TIME__` or `__TIMESTAMP__`.
  bool tells_path = false;  ///< Names `__FILE__`, `assert` or another teller of its own place.
  PathUses path_uses;
  /// Identifiers that are pieces of a name that tells the time, and whether anything is pasted together (`##`).
  Words time_pieces;
  bool pastes = false;
  Words compilers_macros;         ///< Macros that it names, as is_compilers_macro() knows them.
  Words question_pieces;          ///< Identifiers that are pieces of `__has_include` and its like,
  Words literal_pieces;           ///< and words of strings that are.
  bool raw_literals = false;      ///< Has literals that mean something else before C++11,
  bool digit_separators = false;  ///< and before C++14.
  bool literal_suffixes =
      false;  ///< Has words right behind literals, which are no part of them before C++11.
  bool tells_base = false;  ///< Names `__BASE_FILE__`: the program, in any header.
  /// The length of the prelude in bytes: what comes before the first token that belongs to no directive, or before
  /// `#pragma nv_hdrstop`. A precompiled header can hold it.
  std::size_t prelude = 0;
  /// Macros that ask for the header that is their only argument: `#define HAS(x) __has_include(x)`. The name between its
  /// brackets is expanded before, so what stands there is an operand of the form `macro`.
  std::vector<std::string> header_tests;
  /// Where its definitions of macros stand, behind `define`, in the joined text.
  std::vector<std::size_t> definitions;
  /// The name of a construct that kiln does not follow, e.g. "__has_include_next".
  std::string unfollowed;
  /// Where literals and comments end is not sure: a name between quotes or brackets holds what begins one, which counts in a
  /// branch not taken, or a continued line ends in a raw literal. What follows may be read otherwise.
  bool unsure = false;
};

/// Reads a text. Knows comments, string and character literals, raw strings and line continuations.
[[nodiscard]] Directives read_directives(std::string_view text);

/// One definition of a macro.
struct MacroBody {
  bool function_like = false;
  std::vector<std::string> parameters = {};
  std::string text = {};

  [[nodiscard]] bool takes(std::string_view name) const {
    return std::ranges::find(parameters, name) != parameters.end();
  }
};

/// The definitions of macros, over all branches.
using MacroBodies = std::multimap<std::string, MacroBody, std::less<>>;

/// `definitions` are those of the text's directives.
[[nodiscard]] MacroBodies read_macros(std::string_view text,
                                      const std::vector<std::size_t>& definitions);

}  // namespace kiln
