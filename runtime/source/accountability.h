#pragma once

#include <string>
#include <string_view>

#include "source/directives.h"
#include "source/header_files.h"
#include "source/header_search.h"

namespace kiln {

/// Whether a compile's result follows from what its key holds, by what the texts say that it is made of.
class Accountability {
 public:
  /// Of the source, an option or a header: `place` is what the compiler calls it.
  void add(const Directives& said, std::string_view place);

  /// Of a header that was found.
  void add(const HeaderText& text, const FoundHeader& found);

  /// Why it does not, in words; empty where it does.
  [[nodiscard]] std::string reason() const;

 private:
  std::string reason_;
  Words time_pieces_;
  bool pastes_ = false;
};

}  // namespace kiln
