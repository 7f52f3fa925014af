#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>

// Names that a program may paste together (`##`), so that they stand in no text.

namespace kiln {

/// Names, or pieces of them.
using Words = std::set<std::string, std::less<>>;

/// The longest piece of a name that tells the time: __TIMESTAMP__ but for a letter.
inline constexpr std::size_t longest_time_piece = 12;

/// Whether this may be a piece of a name that tells the time. The first letter rules out most words.
[[nodiscard]] inline bool may_be_time_piece(std::string_view word) {
  return word.size() > 1 && word.size() <= longest_time_piece &&
         std::string_view("_ADEIMPST").find(word.front()) != std::string_view::npos;
}

/// Whether a name tells the time: `__DATE__`, `__TIME__`, `__TIMESTAMP__`.
[[nodiscard]] bool is_time_teller(std::string_view word);

/// Adds a word that is a piece of such a name. REQUIRES: may_be_time_piece().
void note_time_piece(std::string_view word, Words& pieces);

/// Whether this may be a piece of `__has_include` or `__has_include_next`. The first letter rules out most words.
[[nodiscard]] inline bool may_be_question_piece(std::string_view word) {
  return word.size() <= std::string_view("__has_include_next").size() &&
         std::string_view("_hasincludex").find(word.front()) != std::string_view::npos;
}

/// The pieces of `__has_include` that stand as identifiers for themselves.
struct QuestionPieces {
  std::size_t begin = 0;  ///< The length of the longest piece that it begins with,
  std::size_t end = 0;    ///< and of the longest that it ends with.
  bool middle = false;    ///< Whether there is one for the middle, of four letters or more.

  void add(const QuestionPieces& others);
  void note(std::string_view word);
  /// Whether they can be pasted together to it. Nobody pastes more than two pieces of three letters or less.
  [[nodiscard]] bool make_a_question() const;
};

/// Whether these can be pasted together to a name that tells the time.
[[nodiscard]] bool can_tell_time(const Words& pieces);

/// Whether these can be pasted together to this name: two of them, or more of two letters each. Nobody pastes single letters
/// together, and everybody has names of a single letter.
[[nodiscard]] bool can_be_pasted(std::string_view name, const Words& pieces);

/// Adds the words and numbers of a text that might be pasted together to this name.
void add_pieces(std::string_view text, std::string_view name, Words& pieces);

}  // namespace kiln
