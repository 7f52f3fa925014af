#pragma once

#include <string>
#include <string_view>

namespace kiln {

/// A macro that NVRTC defines, and no compiler of the host does.
inline constexpr std::string_view defined_by_nvrtc = "__CUDACC_RTC__";

/// A text without the branches of its conditionals that are only taken where that macro is not defined. What NVRTC may read
/// is left, and so are all ends of lines. REQUIRES: `code` has no comments, no continued lines and no raw literals.
[[nodiscard]] std::string without_host_branches(std::string_view code);

}  // namespace kiln
