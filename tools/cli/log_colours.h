#pragma once

#include <string>
#include <string_view>

namespace kiln::cli {

/// A compiler's log as a terminal shows it best: places stand out, errors are red, warnings magenta, carets green. Nothing
/// else is changed.
[[nodiscard]] std::string with_colours(std::string_view log);

}  // namespace kiln::cli
