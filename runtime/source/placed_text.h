#pragma once

#include <string>
#include <string_view>

namespace kiln {

/// A header's text that says where it lies, by a `#line` directive: a compiler that opened it by another name tells this path in
/// `__FILE__` and in messages. All lines keep their numbers, and an include guard stays one. REQUIRES: no line break in the path.
[[nodiscard]] std::string text_at(std::string_view path, std::string_view text);

}  // namespace kiln
