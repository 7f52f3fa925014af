#pragma once

#include <string>
#include <string_view>

#include "source/directives.h"
#include "source/header_files.h"
#include "source/header_search.h"

namespace kiln {

/// Whether NVRTC reads less of this text where it is embedded than in a file: up to a NUL, or a byte of 255 (seen with 13.0).
[[nodiscard]] bool is_cut_short_in_memory(std::string_view text);

/// Decides whether a compile's result follows from its key. Goes by the texts that the compile is made of.
class Accountability {
 public:
  /// Adds an option that chooses the language of what is added later.
  void read_in_language_of(std::string_view option);

  /// Whether literals of a text end elsewhere than a scan takes them to, in its language or in any.
  [[nodiscard]] bool misreads(const Directives& said) const noexcept {
    return said.unsure || (before_raw_literals_ && (said.raw_literals || said.literal_suffixes)) ||
           (before_digit_separators_ && said.digit_separators);
  }

  /// Adds the source, an option or a header. `place` is what the compiler calls it.
  void add(const Directives& said, std::string_view place);

  /// Adds a header that was found.
  void add(const HeaderText& text, const FoundHeader& found);

  /// Why the result does not follow from its key, in words. Empty if it does.
  [[nodiscard]] std::string reason() const;

 private:
  std::string reason_;
  Words time_pieces_;
  bool pastes_ = false;
  bool before_raw_literals_ = false;
  bool before_digit_separators_ = false;
};

}  // namespace kiln
