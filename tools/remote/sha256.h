#pragma once

#include <string>
#include <string_view>

namespace kiln::remote {

/// SHA-256 in 64 lower-case hexadecimal digits. S3 wants it of each body; libcurl gives none to its callers.
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

}  // namespace kiln::remote
