#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// What to do about a header that a compile did not find: a sentence for people. Those of the C++ and C
/// standard libraries have remedies of their own, and those of CUDA the package of its major version. Looks for libcu++ below the
/// include directories.
[[nodiscard]] std::string remedy_for_missing_header(std::string_view name,
                                                    const std::vector<std::string>& include_dirs,
                                                    int cuda_major);

}  // namespace kiln
