#include "source/program_tellers.h"

#include <cstddef>
#include <set>

#include "source/directives.h"
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

bool may_ask_for_source(std::string_view text) {
  return !find_word(text, [&](std::string_view word) {
            return word == folder_of_sources && !is_another_name(text, word);
          }).empty();
}

// The same without comments, in which people speak of kiln.
bool asks_for_source_in_code(std::string_view text) {
  return read_directives(text).unsure || may_ask_for_source(code_in(text));
}

}  // namespace

void ProgramTellers::add(std::string_view text) {
  if (told_) return;
  const JoinedText joined(text);
  told_ |= add_words(joined.text()) || holds(text, splice_of_trigraph) ||
           (may_ask_for_source(joined.text()) && asks_for_source_in_code(text));
}

void ProgramTellers::add_option(std::string_view option) {
  told_ |= add_words(option) || holds(option, folder_of_sources);
}

bool ProgramTellers::add_words(std::string_view text) {
  const auto told = find_word(text, [&](std::string_view word) {
    if (word.size() < base_teller.size() && base_teller.find(word) != base_teller.npos)
      pieces_.emplace(word);
    return word == base_teller;
  });
  return !told.empty();
}

// With letters between them the pieces have to be telling: "AS IS" stands in every licence.
bool ProgramTellers::any() const {
  const auto is_prose = [](const auto& piece) { return piece.size() < 4 && piece != "__"; };
  auto telling = pieces_;
  std::erase_if(telling, is_prose);
  return told_ || can_be_pasted(base_teller, pieces_) ||
         can_be_pasted_with_letters(base_teller, telling);
}

}  // namespace kiln
