#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/program.h"
#include "kiln/request.h"
#include "source/accountability.h"
#include "source/header_files.h"
#include "source/header_search.h"

namespace kiln {

/// The headers that a program looks up. close_over() gives all that the program may read, as far as a scan can tell: it
/// takes all conditionals as true. close_over_readings() gives less of that, and narrow() exactly what the compiler asked for.
struct Closure {
  DependencySet dependencies;
  std::vector<FoundHeader> found;  ///< What each look-up found.
  /// The text that each look-up found; nullptr where it found nothing.
  std::vector<std::shared_ptr<const HeaderText>> texts;
  /// For each look-up: the position of the look-up whose text makes it first, or Dependency::source_parent.
  std::vector<std::uint32_t> includers;
  std::vector<HeaderForCompiler>
      embedded;  ///< Those that are reached. Of what lies on this machine alone.
  std::shared_ptr<const HeaderText> source;  ///< The program's, scanned. Never null.

  /// What the scan cannot follow, so that the compiler may ask for more. Empty if it follows all.
  std::string unresolved;

  /// What the source and the options alone say of accountability.
  Accountability itself;

  /// Why this compile's result does not follow from its key. Empty if it does. close_over() goes by all that the program
  /// may read.
  std::string not_stored;

  /// Whether a text might put the program's name into the output.
  bool tells_base = false;

  /// Whether the program's own source and headers, or the toolkit's, might put a path into the output.
  bool own_text_tells_path = false;
  PathUses own_path_uses;
  bool toolkit_tells_path = false;

  /// A header was found by so many paths that they were not all followed.
  bool many_paths = false;
};

/// What the look-ups of a program come to while they are followed.
class LookUpAnswers {
 public:
  virtual ~LookUpAnswers() = default;

  /// `quoted_in`: the includer of a quoted include; nullptr for one in angle brackets.
  [[nodiscard]] virtual FoundHeader find(std::string_view spelling,
                                         const FoundHeader* quoted_in) = 0;

  /// Whether a search in angle brackets comes by any header of this name.
  [[nodiscard]] virtual bool is_anywhere(std::string_view spelling) = 0;

  /// The text of a header that was found; nullptr where it cannot be read, or counts for nothing.
  [[nodiscard]] virtual std::shared_ptr<const HeaderText> read(const FoundHeader& found) = 0;
};

/// Follows the includes of a program, whose scanned source this is. Cannot fail: it records a header that is not found as such, and
/// the compiler decides whether that matters.
[[nodiscard]] Closure close_over(const Program& program, std::shared_ptr<const HeaderText> source,
                                 const HeaderSearch& search, LookUpAnswers& answers);

/// By what lies on this machine now. Needs no query, since kiln-embed follows includes before there is a library.
[[nodiscard]] Closure close_over(const Program& program, std::shared_ptr<const HeaderText> source,
                                 const HeaderSearch& search, HeaderFiles& files);
[[nodiscard]] Closure close_over(const Program& program, const HeaderSearch& search,
                                 HeaderFiles& files);

}  // namespace kiln
