#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln::system {

/// How many slips of the keyboard are between two words: a letter too many, too few, a wrong one, or two neighbours
/// exchanged (the optimal string alignment distance).
[[nodiscard]] inline std::size_t slips_between(std::string_view one, std::string_view other) {
  std::vector<std::size_t> before_last;
  std::vector<std::size_t> last(other.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= one.size(); ++i) {
    std::vector<std::size_t> row{i};
    for (std::size_t j = 1; j <= other.size(); ++j) {
      const std::size_t wrong = one[i - 1] == other[j - 1] ? 0 : 1;
      row.push_back(std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + wrong}));
      const bool exchanged =
          i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
      if (exchanged) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = std::exchange(last, std::move(row));
  }
  return last.back();
}

/// The name that was probably meant: the one of `known` that is nearest. Nothing where none is within two slips, or
/// half of the word would be wrong.
[[nodiscard]] inline std::optional<std::string> nearest_name(
    std::string_view word, const std::vector<std::string>& known) {
  std::optional<std::string> nearest;
  auto fewest = std::min<std::size_t>(2, word.size() / 2) + 1;
  for (const auto& name : known) {
    const auto slips = slips_between(word, name);
    if (slips >= fewest) continue;
    fewest = slips;
    nearest = name;
  }
  return nearest;
}

/// As nearest_name(), of names that all begin with `prefix`. What everybody writes anyway does not count among the letters
/// that are right.
[[nodiscard]] inline std::optional<std::string> nearest_name_behind(
    std::string_view prefix, std::string_view word, const std::vector<std::string>& known) {
  if (!word.starts_with(prefix)) return nearest_name(word, known);
  std::vector<std::string> ends;
  for (const auto& name : known) {
    if (name.starts_with(prefix)) ends.push_back(name.substr(prefix.size()));
  }
  auto nearest = nearest_name(word.substr(prefix.size()), ends);
  if (nearest) nearest->insert(0, prefix);
  return nearest;
}

}  // namespace kiln::system
