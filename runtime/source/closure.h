#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kiln/program.h"
#include "kiln/request.h"
#include "source/accountability.h"
#include "source/header_files.h"
#include "source/header_search.h"

namespace kiln {

/// The headers that a program looks up. As close_over() gives it, all that it may read, as far as a scan can tell:
/// with all conditionals taken as true. As narrow() gives it, what the compiler did ask for, exactly.
struct Closure {
  DependencySet dependencies;
  std::vector<FoundHeader> found;  ///< Beside each look-up.
  /// Beside each look-up, nullptr where nothing was found.
  std::vector<std::shared_ptr<const HeaderText>> texts;
  /// Beside each look-up: whose text makes it first, by its position, or Dependency::source_parent.
  std::vector<std::uint32_t> includers;
  std::vector<HeaderForCompiler> embedded;   ///< Those that are reached.
  std::shared_ptr<const HeaderText> source;  ///< The program's, scanned. Never null.

  /// What the scan cannot follow, so that the compiler may ask for more; empty where there is nothing such.
  std::string unresolved;

  /// What the source and the options say of that themselves.
  Accountability itself;

  /// Why this compile's result cannot be known by its key; empty when it can. As close_over() gives it, by all that
  /// the program may read.
  std::string not_stored;

  /// Whether the program's own source and headers, or the toolkit's, might put a path into the output.
  bool own_text_tells_path = false;
  bool toolkit_tells_path = false;
};

/// Follows the includes of a program. Cannot fail: a header that is not found is recorded as such,
/// and whether that matters is for the compiler to say.
[[nodiscard]] Closure close_over(const Program& program, const HeaderSearch& search,
                                 HeaderFiles& files);

}  // namespace kiln
