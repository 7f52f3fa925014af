#pragma once

#include <string>
#include <string_view>

#include "source/directives.h"
#include "source/header_files.h"
#include "source/header_search.h"

namespace kiln {

/// Decides whether a compile's result follows from its key. Goes by the texts that the compile is made of.
class Accountability {
 public:
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
};

}  // namespace kiln
