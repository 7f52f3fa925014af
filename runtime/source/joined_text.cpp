#include "source/joined_text.h"

#include <algorithm>
#include <iterator>

#include "source/scanner.h"

namespace kiln {

JoinedText::JoinedText(std::string_view text) : original_(text) {
  std::size_t begin = 0;
  for (auto at = text.find('\\'); at != std::string_view::npos; at = text.find('\\', at + 1)) {
    // NVRTC takes any number of carriage returns for part of the line's end.
    const auto end = text.find_first_not_of('\r', at + 1);
    if (end == std::string_view::npos || text[end] != '\n') continue;
    joined_.append(text.substr(begin, at - begin));
    begin = end + 1;
    cuts_.emplace_back(joined_.size(), begin - joined_.size());
  }
  if (!cuts_.empty()) joined_.append(text.substr(begin));
}

std::size_t JoinedText::original(std::size_t position) const {
  const auto after =
      std::upper_bound(cuts_.begin(), cuts_.end(), position,
                       [](std::size_t place, const auto& cut) { return place < cut.first; });
  return after == cuts_.begin() ? position : position + std::prev(after)->second;
}

std::string without_comments(std::string_view joined) {
  std::string code;
  code.reserve(joined.size());
  std::size_t begin = 0;  // Of what is not copied yet.
  Scanner scanner(joined);
  std::size_t plain_until = 0;
  while (!scanner.done()) {
    // Up to there, what is left is walked token by token.
    if (scanner.position() >= plain_until) plain_until = scanner.skip_plain();
    const auto end = scanner.position();
    if (!scanner.skip_comment()) {
      scanner.skip_word_or_token();
      continue;
    }
    code.append(joined.substr(begin, end - begin)) += ' ';
    begin = scanner.position();
  }
  code.append(joined.substr(begin));
  return code;
}

std::string code_in(std::string_view text) { return without_comments(JoinedText(text).text()); }

}  // namespace kiln
