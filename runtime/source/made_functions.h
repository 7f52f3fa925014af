#pragma once

#include <string_view>
#include <vector>

#include "source/program_texts.h"

namespace kiln {

/// A function whose name a macro pastes together, `int name##_of(...) {`, or makes, `int NAME(x)(...) {`. Borrows the texts.
/// (Where a macro is given a whole name, that stands in a text.)
struct MadeFunction {
  std::string_view lead;
  std::string_view text;                      ///< From the bracket behind its name.
  std::vector<std::string_view> pieces = {};  ///< That the name may begin or end with.
  bool is_open = false;  ///< Another part of it is given, or stands behind the macro.
};

/// Those of a program.
[[nodiscard]] std::vector<MadeFunction> find_made_functions(ProgramTexts& texts);

/// Whether it may be the function of that name.
[[nodiscard]] bool may_be_named(const MadeFunction& function, std::string_view name,
                                ProgramTexts& texts);

}  // namespace kiln
