#pragma once

#include <string>
#include <string_view>

#include "source/pieces.h"

// Macros that wrap `__has_include`: `#define HAS(x) __has_include(x)`.

namespace kiln {

/// The first of these macros (Directives::header_tests) that a text uses in a way that a scan does not follow. A scan follows
/// `#if HAS(<x>)`, the macro's definition, and the question whether it is defined. Empty if the text uses none otherwise.
[[nodiscard]] std::string used_unfollowed(std::string_view text, const Words& header_tests);

}  // namespace kiln
