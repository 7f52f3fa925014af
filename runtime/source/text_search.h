#pragma once

#include <string.h>  // NOLINT(modernize-deprecated-headers): memmem() is the system's

#include <cstddef>
#include <string_view>

#include "source/characters.h"

namespace kiln {

/// Where `part` stands in `text` first, npos if nowhere. In texts of megabytes std::string_view::find() takes several times as
/// long: it compares at each place that begins alike.
inline std::size_t place_of(std::string_view text, std::string_view part) {
  if (text.empty() || part.empty()) return part.empty() ? 0 : std::string_view::npos;
  const void* found = ::memmem(text.data(), text.size(), part.data(), part.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

/// Whether `part` stands in `text`.
inline bool holds(std::string_view text, std::string_view part) {
  return place_of(text, part) != std::string_view::npos;
}

/// The same for a part of two or three characters whose first one is rare: memmem() looks at each place for these.
inline bool holds_rare(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Whether this path stands in `text` whole: where neither another path nor another name ends or goes on with it.
[[nodiscard]] inline bool holds_path(std::string_view text, std::string_view path) {
  const auto is_of_name = [](char c) {
    return continues_identifier(c) || c == '.' || c == '-' || c == '/';
  };
  while (true) {
    const auto at = place_of(text, path);
    if (at == std::string_view::npos) return false;
    const auto behind = text.substr(at + path.size());
    if ((at == 0 || !is_of_name(text[at - 1])) && (behind.empty() || !is_of_name(behind.front())))
      return true;
    text = text.substr(at + 1);
  }
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
