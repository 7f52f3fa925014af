#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "source/directives.h"

namespace kiln {

/// All spellings, with their quotes or brackets, that `#include operand` might mean where these texts' macros
/// are defined, over all branches; none if that cannot be told: a predefined macro, one that pastes or quotes its arguments,
/// no definition, something that is no header name whatever it is defined to, or too many.
[[nodiscard]] std::vector<std::string> expand_include_macro(
    std::string_view operand, const std::vector<const MacroBodies*>& macros);

/// What -D defines, in one option or two.
[[nodiscard]] MacroBodies macros_of_options(const std::vector<std::string>& options);

/// Whether an option chooses a language without raw literals, where a scan takes code for one.
[[nodiscard]] bool is_before_raw_strings(std::string_view option);

}  // namespace kiln
