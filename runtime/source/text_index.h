#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace kiln {

/// Tells at once of most parts that do not stand in a text of up to some tens of megabytes: for an image, which is asked for the
/// names of hundreds of headers. Borrows the text. To make it takes about a nanosecond a character, and at most a mebibyte.
/// Immutable.
class TextIndex {
 public:
  explicit TextIndex(std::string_view text);

  /// Whether `part` stands in the text.
  [[nodiscard]] bool holds(std::string_view part) const;

  /// True where it does; seldom true where it does not.
  [[nodiscard]] bool may_hold(std::string_view part) const;

 private:
  std::string_view text_;
  unsigned shift_;                   ///< Of a run's hash, to its bit's number.
  std::vector<std::uint64_t> bits_;  ///< Set for each run of characters in the text.
};

}  // namespace kiln
