#pragma once

#include <string.h>  // NOLINT(modernize-deprecated-headers): memmem() is the system's

#include <algorithm>
#include <string_view>

#include "source/characters.h"

namespace kiln {

/// Whether `part` stands in `text`. In texts of megabytes std::string_view::find() takes several times as long: it compares at
/// each place that begins alike.
inline bool holds(std::string_view text, std::string_view part) {
  return ::memmem(text.data(), text.size(), part.data(), part.size()) != nullptr;
}

/// The first of a text's names and numbers of which `wanted(word)` holds; empty if it holds of none. Knows no comments and no
/// literals.
template <class Wanted>
[[nodiscard]] std::string_view find_word(std::string_view text, const Wanted& wanted) {
  for (auto at = text.begin(); at != text.end();) {
    at = std::find_if(at, text.end(), continues_identifier);
    const auto end = std::find_if_not(at, text.end(), continues_identifier);
    const std::string_view word(at, end);
    if (!word.empty() && wanted(word)) return word;
    at = end;
  }
  return {};
}

}  // namespace kiln
