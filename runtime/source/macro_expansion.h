#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "source/directives.h"

namespace kiln {

/// All spellings, with their quotes or brackets, that `#include operand` might mean with the macros of these texts, over all
/// branches. None if nobody can tell: the macro is predefined, pastes or quotes its arguments, has no definition, gives no
/// header name, or gives too many.
[[nodiscard]] std::vector<std::string> expand_include_macro(
    std::string_view operand, const std::vector<const MacroBodies*>& macros);

/// Whether the compiler may define a macro of this name: itself, or in the CUDA headers that it has built in.
[[nodiscard]] bool may_be_predefined(std::string_view name);

/// Whether a macro's body does what is not followed: it pastes or quotes, or holds what is a trigraph before C++17.
[[nodiscard]] bool is_beyond_following(std::string_view body);

/// What -D defines, in one option or two.
[[nodiscard]] MacroBodies macros_of_options(const std::vector<std::string>& options);

/// Whether an option chooses a language that reads literals otherwise than a scan does: one before C++11, which has no raw
/// ones, or before C++14, which has no quotes in numbers.
[[nodiscard]] bool is_before_raw_literals(std::string_view option);
[[nodiscard]] bool is_before_digit_separators(std::string_view option);

}  // namespace kiln
