#include "source/program_tellers.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "source/characters.h"
#include "source/joined_text.h"
#include "source/text_search.h"

namespace kiln {

namespace {

// The folder in which no machine has a file, without which nobody can spell a source's place.
constexpr std::string_view folder_of_sources = "kiln";

std::string_view line_around(std::string_view text, std::size_t at) {
  const auto begin = text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

// What asks for a header stands in a directive, or in a macro that one defined: in a line that begins with `#`, in one of its other
// spellings, or that ends a comment of such a line.
bool may_be_of_directive(std::string_view line) {
  return std::ranges::any_of(std::array{"#", "%:", "?\?=", "*/"},
                             [&](std::string_view sign) { return holds(line, sign); });
}

// A header's name that begins with it, as kiln's own do, is no place of a source.
bool may_place_source(std::string_view text, std::string_view word) {
  const auto at = static_cast<std::size_t>(word.data() - text.data());
  const char before = at == 0 ? '\n' : text[at - 1];
  return before != '<' && before != '"' && may_be_of_directive(line_around(text, at));
}

}  // namespace

void ProgramTellers::add(std::string_view text) {
  const JoinedText joined(text);
  const auto told = find_word(joined.text(), [&](std::string_view word) {
    if (word == base_teller) return true;
    if (word == folder_of_sources) return may_place_source(joined.text(), word);
    note_piece(word);
    return false;
  });
  told_ |= !told.empty();
}

void ProgramTellers::add_option(std::string_view option) {
  const auto told = find_word(option, [&](std::string_view word) {
    note_piece(word);
    return word == base_teller || word == folder_of_sources;
  });
  told_ |= !told.empty();
}

void ProgramTellers::note_piece(std::string_view word) {
  const auto is_piece_of = [&](std::string_view name) {
    return word.size() < name.size() && name.find(word) != name.npos;
  };
  if (is_piece_of(base_teller) || is_piece_of(folder_of_sources)) pieces_.emplace(word);
}

bool ProgramTellers::any() const {
  return told_ || can_be_pasted(base_teller, pieces_) || can_be_pasted(folder_of_sources, pieces_);
}

}  // namespace kiln
