#include "source/accountability.h"

#include <fmt/format.h>

#include "source/macro_expansion.h"

namespace kiln {

bool is_cut_short_in_memory(std::string_view text) {
  return text.find('\0') != std::string_view::npos || text.find('\xff') != std::string_view::npos;
}

void Accountability::read_in_language_of(std::string_view option) {
  before_raw_literals_ |= is_before_raw_literals(option);
  before_digit_separators_ |= is_before_digit_separators(option);
}

void Accountability::add(const Directives& said, std::string_view place) {
  if (said.tells_time && reason_.empty())
    reason_ = fmt::format("{}: it uses __DATE__, __TIME__ or __TIMESTAMP__", place);
  if (misreads(said) && reason_.empty())
    reason_ = fmt::format("{}: where its literals and comments end is not sure", place);
  time_pieces_.insert(said.time_pieces.begin(), said.time_pieces.end());
  pastes_ |= said.pastes;
}

void Accountability::add(const HeaderText& text, const FoundHeader& found) {
  add(text.directives, found.place());
  if (found.embedded != nullptr && reason_.empty() && is_cut_short_in_memory(text.text)) {
    reason_ = fmt::format("{}: it holds a byte of 0 or 255, where the compiler stops reading",
                          found.place());
  }
}

std::string Accountability::reason() const {
  if (!reason_.empty() || !pastes_ || !can_tell_time(time_pieces_)) return reason_;
  return "it may paste together __DATE__, __TIME__ or __TIMESTAMP__";
}

}  // namespace kiln
