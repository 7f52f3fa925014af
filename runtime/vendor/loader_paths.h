#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace kiln::vendor {

/// Where the dynamic loader would look for a bare soname, asked without loading anything:
/// LD_LIBRARY_PATH, then its cache (/etc/ld.so.cache), then the default folders. Only files that exist.
[[nodiscard]] std::vector<std::filesystem::path> loader_paths(std::string_view soname);

}  // namespace kiln::vendor
