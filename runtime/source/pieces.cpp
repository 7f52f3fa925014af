#include "source/pieces.h"

#include <algorithm>
#include <array>
#include <vector>

#include "source/joined_text.h"
#include "source/scanner.h"
#include "source/text_search.h"

namespace kiln {

namespace {

constexpr std::string_view asks_for_header = "__has_include";
constexpr std::string_view asks_for_next_header = "__has_include_next";
constexpr std::array<std::string_view, 3> time_tellers{"__DATE__", "__TIME__", "__TIMESTAMP__"};
constexpr std::size_t shortest_piece = 2;  // As can_be_pasted() has it.

}  // namespace

bool is_time_teller(std::string_view word) { return is_one_of(word, time_tellers); }

void note_time_piece(std::string_view word, Words& pieces) {
  const auto holds = [&](std::string_view name) {
    return name.find(word) != std::string_view::npos;
  };
  if (std::any_of(time_tellers.begin(), time_tellers.end(), holds)) pieces.emplace(word);
}

// Any piece of the shorter name is one of the longer.
void note_question_piece(std::string_view word, Words& pieces) {
  if (word.size() >= shortest_piece && asks_for_next_header.find(word) != std::string_view::npos)
    pieces.emplace(word);
}

bool can_ask(const Words& pieces) {
  return can_be_pasted(asks_for_header, pieces) || can_ask_for_next(pieces);
}

bool can_ask_for_next(const Words& pieces) { return can_be_pasted(asks_for_next_header, pieces); }

bool can_be_pasted(std::string_view name, const Words& pieces) {
  if (pieces.contains(name.substr(1)) || pieces.contains(name.substr(0, name.size() - 1)))
    return true;
  // Whether each beginning of the name can be made. The whole name is no piece of itself.
  std::vector<bool> made(name.size() + 1);
  made[0] = true;
  for (std::size_t end = shortest_piece; end <= name.size(); ++end) {
    for (std::size_t begin = 0; begin + shortest_piece <= end; ++begin) {
      const auto piece = name.substr(begin, end - begin);
      made[end] = made[end] || (made[begin] && piece != name && pieces.contains(piece));
    }
  }
  return made[name.size()];
}

bool can_tell_time(const Words& pieces) {
  return std::any_of(time_tellers.begin(), time_tellers.end(),
                     [&](std::string_view name) { return can_be_pasted(name, pieces); });
}

void add_pieces(std::string_view text, const Words& names, Words& pieces) {
  const auto add = [&](std::string_view word) {
    const auto is_piece_of = [&](const std::string& name) {
      return word.size() < name.size() && name.find(word) != std::string::npos;
    };
    if (std::any_of(names.begin(), names.end(), is_piece_of)) pieces.emplace(word);
    return false;
  };
  const JoinedText joined(text);
  for (Scanner scanner(joined.text()); !scanner.done();) {
    scanner.skip_blanks();
    if (scanner.done()) break;
    const auto begin = scanner.position();
    const bool is_number = scanner.at_number();
    scanner.skip_word_or_token();
    const auto token = scanner.since(begin);
    // The words of a literal count, too: _Pragma expands them. A number is one word, whatever it holds.
    is_number ? static_cast<void>(add(token)) : static_cast<void>(find_word(token, add));
  }
}

}  // namespace kiln
