#pragma once

#include <string.h>  // NOLINT(modernize-deprecated-headers): memmem() is the system's

#include <string_view>

#include "source/characters.h"

namespace kiln {

/// Whether `part` stands in `text`. In texts of megabytes std::string_view::find() takes several times as long: it compares at
/// each place that begins alike.
inline bool holds(std::string_view text, std::string_view part) {
  if (text.empty() || part.empty()) return part.empty();
  return ::memmem(text.data(), text.size(), part.data(), part.size()) != nullptr;
}

/// The same for a part of two or three characters whose first one is rare: memmem() looks at each place for these.
inline bool holds_rare(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The first of a text's names and numbers of which `wanted(word)` holds; empty if it holds of none. Knows no comments and no
/// literals.
template <class Wanted>
[[nodiscard]] std::string_view find_word(std::string_view text, const Wanted& wanted) {
  for (auto at = text.begin(); at != text.end();) {
    while (at != text.end() && !continues_identifier(*at)) ++at;
    auto end = at;
    while (end != text.end() && continues_identifier(*end)) ++end;
    const std::string_view word(at, end);
    if (!word.empty() && wanted(word)) return word;
    at = end;
  }
  return {};
}

}  // namespace kiln
