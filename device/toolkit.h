#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "kiln/error.h"

namespace kiln {

/// From the spelling that a header is included by to its file.
using ToolkitHeaders = std::map<std::string, std::filesystem::path>;

/// These headers of a CUDA toolkit and all that they may read of it, whatever macros say: what a kernel needs to
/// include them where there is no toolkit. `directories` are searched in order, as a compile would.
/// Errors: header_not_found for one that is not below them; what kiln cannot follow, naming it.
[[nodiscard]] Result<ToolkitHeaders> toolkit_headers(
    const std::vector<std::filesystem::path>& directories, const std::vector<std::string>& names);

}  // namespace kiln
