#pragma once

#include <string_view>

#include "source/pieces.h"

namespace kiln {

/// Whether texts may tell the name of the program that they are read for: by `__BASE_FILE__`, or by asking for its source, whose
/// place virtual_name() makes up. Goes by words alone, so that what nobody could expand counts, too: in comments as well.
/// Not seen are names that are pasted together mostly of single letters, or the folder's with any: everybody has these.
class ProgramTellers {
 public:
  void add(std::string_view text);
  void add_option(std::string_view option);

  /// Whether one of the texts does, or all can paste such a name together.
  [[nodiscard]] bool any() const;

 private:
  void note_piece(std::string_view word);

  bool told_ = false;
  Words pieces_;
};

}  // namespace kiln
