#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "source/directives.h"
#include "source/header_files.h"
#include "source/header_search.h"

namespace kiln {

/// An embedded header that the compiler gets where another one is only asked for: what that one is called depends on macros,
/// since a question's name may be expanded. Nobody has a macro of this name.
inline constexpr std::string_view stand_in = "__kiln_embedded_header_is_there";

/// Embedded headers as the compiler gets them. NVRTC looks for what an embedded header quotes by the literal spelling, then below
/// the working directory. So `#include "info.h"` in `engine/detail/a.cuh` becomes `#include <engine/detail/info.h>` where that is
/// embedded, and `#include <info.h>` where it is not. A question for a neighbour becomes one for the stand-in; any other question
/// stays as it is. What becomes of a header depends on nothing but the set. Borrows the search.
class SpelledNeighbours {
 public:
  explicit SpelledNeighbours(const HeaderSearch& search) : search_(search) {}

  /// What a quoted name becomes. Nothing where it is left as it is.
  [[nodiscard]] std::optional<std::string> name(const IncludeDirective& include,
                                                const EmbeddedHeader& header) const;

  /// Whole headers. Lines stay where they are.
  [[nodiscard]] std::vector<HeaderForCompiler> spell_out(
      const std::vector<const EmbeddedHeader*>& headers, HeaderFiles& files) const;

 private:
  [[nodiscard]] std::string spell_out(const EmbeddedHeader& header,
                                      const HeaderText& scanned) const;

  const HeaderSearch& search_;
};

/// Whether this quoted include is spelled out in any embedded header that has it. It is not where a bracket or a comment would
/// begin or end in its name, or where no text holds the directive.
[[nodiscard]] bool can_be_spelled_out(const IncludeDirective& include);

/// All embedded headers of a program, for a compiler that is to find out which of them are read. Nothing where they are so many
/// that it is better off without the others.
[[nodiscard]] std::optional<std::vector<HeaderForCompiler>> all_for_compiler(
    const HeaderSearch& search, HeaderFiles& files);

}  // namespace kiln
