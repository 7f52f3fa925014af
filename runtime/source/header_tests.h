#pragma once

#include <string>
#include <string_view>

#include "source/pieces.h"

// Macros that wrap `__has_include`: `#define HAS(x) __has_include(x)`.

namespace kiln {

/// The first of these macros, which ask for headers (Directives::header_tests), that a text uses in another way than a scan
/// of its conditions follows: besides `#if HAS(<x>)`, defining it and asking whether it is defined. Empty where it uses
/// none so.
[[nodiscard]] std::string used_unfollowed(std::string_view text, const Words& header_tests);

}  // namespace kiln
