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

/// Names the program, in any header.
inline constexpr std::string_view base_teller = "__BASE_FILE__";

/// Names the file that it stands in.
inline constexpr std::string_view path_teller = "__FILE__";

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

/// Whether this may be a piece of a question: of `__has_include` or `__has_include_next`. The first letter rules out most words.
[[nodiscard]] inline bool may_be_question_piece(std::string_view word) {
  return word.size() <= std::string_view("__has_include_next").size() &&
         std::string_view("_hasincludex").find(word.front()) != std::string_view::npos;
}

/// Adds a word that is a piece of a question. REQUIRES: may_be_question_piece().
void note_question_piece(std::string_view word, Words& pieces);

/// Whether these can be pasted together to a question: what code has, with three letters more, or any where a word is plainly
/// the half of one, or what literals have, too. Literals are mostly prose.
[[nodiscard]] bool can_ask(const Words& in_code, const Words& in_literals);

/// The same for the longer question alone, which searches on behind a header that was found.
[[nodiscard]] bool can_ask_for_next(const Words& in_code, const Words& in_literals);

/// Whether these can be pasted together to a name that tells the time.
[[nodiscard]] bool can_tell_time(const Words& pieces);

/// Whether some of these can be pasted together to this name: two, of which one may be a letter, or more of two letters each.
/// Everybody has names of a single letter.
[[nodiscard]] bool can_be_pasted(std::string_view name, const Words& pieces);

/// The same of a name that tells the time or a place: also of its beginning and its end, which nobody has but to make it, with three
/// letters more.
[[nodiscard]] bool can_be_pasted_to_teller(std::string_view name, const Words& pieces);

/// What can_be_pasted() tells, with three letters more, and any digits: nobody makes a name of more, unless it is short. An empty
/// name stands for one that nobody could read, and may be anything.
[[nodiscard]] bool can_be_pasted_with_letters(std::string_view name, const Words& pieces);

/// Adds the words and numbers of code (code_in()) of which one of these names might be pasted together. The words of a
/// literal count, too: _Pragma expands them. So do those that a macro of the compiler's own brings along.
void add_pieces(std::string_view code, const Words& names, Words& pieces);

}  // namespace kiln
