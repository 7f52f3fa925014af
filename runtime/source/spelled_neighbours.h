#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "source/directives.h"
#include "source/header_files.h"
#include "source/header_search.h"

namespace kiln {

/// Embedded headers as the compiler gets them. NVRTC looks for what an embedded header quotes by the literal spelling, then below
/// the working directory. So `"info.h"` in `engine/detail/a.cuh` becomes `<engine/detail/info.h>` where it is a neighbour, and
/// `<info.h>` where it is none.
class SpelledNeighbours {
 public:
  /// The definitions that may reach the headers: of the options, and of all texts that the program reads.
  using Macros = std::function<std::vector<const MacroBodies*>()>;

  /// Borrows the search. `macros` is only called where one of the headers asks for another one in quotes.
  SpelledNeighbours(const HeaderSearch& search, Macros macros)
      : search_(search), macros_(std::move(macros)) {}

  /// What a quoted name becomes. Nothing where it is left as it is: a bracket or a comment would begin or end there. That of a
  /// question is only touched where it would be one token, or no macro would be expanded in it; that of a macro's argument, only
  /// where it is a neighbour's.
  [[nodiscard]] std::optional<std::string> name(const IncludeDirective& include,
                                                const EmbeddedHeader& header) const;

  /// A whole header. Lines stay where they are.
  [[nodiscard]] HeaderForCompiler spell_out(const EmbeddedHeader& header,
                                            const HeaderText& scanned) const;

 private:
  const HeaderSearch& search_;
  const Macros macros_;
};

/// All embedded headers of a program, for a compiler that is to find out which of them are read. Nothing where they are so many
/// that it is better off without the others, or where one asks for another one in quotes, which goes by macros.
[[nodiscard]] std::optional<std::vector<HeaderForCompiler>> all_for_compiler(
    const HeaderSearch& search, HeaderFiles& files);

}  // namespace kiln
