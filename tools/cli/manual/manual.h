#pragma once

#include <string>

#include "grammar/grammar_description.h"

namespace kiln::cli {

/// The tool's manual page, in the `man` macros of roff.
[[nodiscard]] std::string manual_page(const GrammarDescription& grammar);

}  // namespace kiln::cli
