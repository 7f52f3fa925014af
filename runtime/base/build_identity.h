#pragma once

#include <string_view>

namespace kiln {

/// Names this build of kiln by the content of its sources. A helper program of another build may do differently from what this
/// library expects.
[[nodiscard]] std::string_view build_identity() noexcept;

}  // namespace kiln
