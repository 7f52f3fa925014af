#include "source/program_tellers.h"

#include <cstddef>
#include <set>

#include "source/joined_text.h"
#include "source/text_search.h"

namespace kiln {

namespace {

// The folder in which no machine has a file, without which nobody can spell a source's place.
constexpr std::string_view folder_of_sources = "kiln";

// Joins lines before C++17, within any word.
constexpr std::string_view splice_of_trigraph = "?\?/";

// Whether this word of a text cannot be the folder of a source: it begins a header's name, as of kiln's own headers, or is the name
// of a namespace.
bool is_another_name(std::string_view text, std::string_view word) {
  const auto at = static_cast<std::size_t>(word.data() - text.data());
  const auto before = text.substr(0, at);
  const auto behind = text.substr(at + word.size());
  return before.ends_with('<') || before.ends_with('"') || before.ends_with("namespace ") ||
         behind.starts_with("::");
}

}  // namespace

void ProgramTellers::add(std::string_view text) {
  const JoinedText joined(text);
  const auto told = find_word(joined.text(), [&](std::string_view word) {
    note_piece(word);
    return word == base_teller ||
           (word == folder_of_sources && !is_another_name(joined.text(), word));
  });
  told_ |= !told.empty() || holds(text, splice_of_trigraph);
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

// With letters between them the pieces have to be telling: "AS IS" stands in every licence.
bool ProgramTellers::any() const {
  const auto is_prose = [](const auto& piece) { return piece.size() < 4 && piece != "__"; };
  auto telling = pieces_;
  std::erase_if(telling, is_prose);
  return told_ || can_be_pasted(base_teller, pieces_) ||
         can_be_pasted_with_letters(base_teller, telling) ||
         can_be_pasted(folder_of_sources, pieces_);
}

}  // namespace kiln
