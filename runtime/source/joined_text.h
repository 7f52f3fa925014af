#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln {

/// A text whose continued lines are joined, as a preprocessor joins them before all else.
class JoinedText {
 public:
  /// `text` must outlive this: one without a continued line is not copied.
  explicit JoinedText(std::string_view text);

  [[nodiscard]] std::string_view text() const noexcept {
    return cuts_.empty() ? original_ : std::string_view(joined_);
  }

  /// Where the character at this place of the joined text stands in the original.
  [[nodiscard]] std::size_t original(std::size_t position) const;

 private:
  std::string_view original_;
  std::string joined_;
  std::vector<std::pair<std::size_t, std::size_t>>
      cuts_;  // A place, and how much was cut up to there.
};

/// A joined text with a blank in the place of each comment. REQUIRES: where its comments begin is sure (Directives::unsure); what
/// begins one in a header's name counts as one.
[[nodiscard]] std::string without_comments(std::string_view joined);

/// The code of any text: its lines joined, without comments.
[[nodiscard]] std::string code_in(std::string_view text);

}  // namespace kiln
