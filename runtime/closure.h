#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "header_files.h"
#include "header_search.h"
#include "kiln/request.h"

namespace kiln {

/// Everything that a program may read: the closure of its includes with all conditionals taken as
/// true, so it holds all that the compiler reads and at times a little more.
struct Closure {
  DependencySet dependencies;
  std::vector<FoundHeader> found;  ///< Beside each look-up.
  /// Beside each look-up: whose text makes it first, by its position, or Dependency::source_parent.
  std::vector<std::uint32_t> includers;
  std::vector<std::shared_ptr<const HeaderText>>
      texts;  ///< Each header once, for the cache to keep.
  std::vector<HeaderForCompiler> embedded;

  /// Why this compile's result cannot be known by its key; empty when it can.
  std::string unaccountable;

  /// Whether the program's own source and headers, or the toolkit's, might put a path into the output.
  bool own_text_tells_path = false;
  bool toolkit_tells_path = false;
};

}  // namespace kiln
