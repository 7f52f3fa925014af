#include "source/pieces.h"

#include <algorithm>
#include <array>
#include <vector>

#include "source/joined_text.h"
#include "source/scanner.h"

namespace kiln {

namespace {

constexpr std::string_view asks_for_header = "__has_include";
constexpr std::string_view asks_for_next_header = "__has_include_next";
constexpr std::array<std::string_view, 3> time_tellers{"__DATE__", "__TIME__", "__TIMESTAMP__"};
constexpr std::size_t shortest_piece = 2;  // As can_be_pasted() has it.
constexpr std::size_t longest_nobody_pastes = 3;

bool holds_inside(std::string_view name, std::string_view word) {
  const auto at = name.find(word);
  return at != std::string_view::npos && at != 0 && at + word.size() != name.size();
}

}  // namespace

bool is_time_teller(std::string_view word) { return is_one_of(word, time_tellers); }

void note_time_piece(std::string_view word, Words& pieces) {
  const auto holds = [&](std::string_view name) {
    return name.find(word) != std::string_view::npos;
  };
  if (std::any_of(time_tellers.begin(), time_tellers.end(), holds)) pieces.emplace(word);
}

void QuestionPieces::note(std::string_view word) {
  if (word == asks_for_header || word == asks_for_next_header || word.size() < shortest_piece)
    return;
  // All that __has_include_next needs beside the whole of the other, or beside its own rest.
  const bool is_longer =
      word.size() > asks_for_header.size() && asks_for_next_header.starts_with(word);
  if (word == "_next" || is_longer) begin = asks_for_header.size();
  if (asks_for_header.starts_with(word)) begin = std::max(begin, word.size());
  const auto last = word.ends_with("_next") ? word.substr(0, word.size() - 5) : word;
  if (last.size() >= shortest_piece && asks_for_header.ends_with(last))
    end = std::max(end, last.size());
  middle |= word.size() > longest_nobody_pastes && holds_inside(asks_for_header, word);
}

void QuestionPieces::add(const QuestionPieces& others) {
  begin = std::max(begin, others.begin);
  end = std::max(end, others.end);
  middle |= others.middle;
}

bool QuestionPieces::make_a_question() const {
  if (begin == asks_for_header.size()) return true;
  // "__h" and "include" are words of their own.
  constexpr std::string_view telling = "__has";
  const auto gap = begin < telling.size() ? 0 : longest_nobody_pastes;
  if (begin != 0 && end != 0 && middle) return true;
  // A letter is at hand everywhere.
  const std::size_t letter = 1;
  return std::max(begin, letter) + std::max(end, letter) + gap >= asks_for_header.size();
}

bool can_be_pasted(std::string_view name, const Words& pieces) {
  if (pieces.contains(name.substr(1)) || pieces.contains(name.substr(0, name.size() - 1)))
    return true;
  // Whether each beginning of the name can be made.
  std::vector<bool> made(name.size() + 1);
  made[0] = true;
  for (std::size_t end = shortest_piece; end <= name.size(); ++end) {
    for (std::size_t begin = 0; begin + shortest_piece <= end; ++begin) {
      made[end] = made[end] || (made[begin] && pieces.contains(name.substr(begin, end - begin)));
    }
  }
  return made[name.size()];
}

bool can_tell_time(const Words& pieces) {
  return std::any_of(time_tellers.begin(), time_tellers.end(),
                     [&](std::string_view name) { return can_be_pasted(name, pieces); });
}

void add_pieces(std::string_view text, std::string_view name, Words& pieces) {
  const JoinedText joined(text);
  for (Scanner scanner(joined.text()); !scanner.done();) {
    scanner.skip_blanks();
    if (scanner.done()) break;
    const auto begin = scanner.position();
    if (!begins_identifier(scanner.peek()) && !scanner.at_number()) {
      scanner.skip_token();
      continue;
    }
    if (scanner.at_number()) {
      scanner.skip_number();
    } else {
      static_cast<void>(scanner.identifier());
    }
    const auto word = joined.text().substr(begin, scanner.position() - begin);
    if (scanner.peek() == '"' && is_one_of(word, raw_prefixes)) scanner.skip_raw_literal();
    if (word.size() < name.size() && name.find(word) != std::string_view::npos)
      pieces.emplace(word);
  }
}

}  // namespace kiln
