#pragma once

#include <string_view>

#include "source/pieces.h"

namespace kiln {

/// Whether texts may tell the name of the program that they are read for: by `__BASE_FILE__`, or by asking for its source, whose
/// place virtual_name() makes up. Goes by words alone, so that what nobody could expand counts, too. Not seen are a name that is
/// pasted together mostly of single letters, which everybody has, and a folder's that is pasted together at all.
class ProgramTellers {
 public:
  void add(std::string_view text);
  void add_option(std::string_view option);

  /// Whether one of the texts does, or all can paste such a name together.
  [[nodiscard]] bool any() const;

 private:
  [[nodiscard]] bool add_words(std::string_view text);

  bool told_ = false;
  Words pieces_;
};

}  // namespace kiln
