#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/request.h"

namespace kiln::storage {

/// The record of a witness's stamps; its roots are the row's key.
[[nodiscard]] std::string encode_stamps(const std::vector<FileStamp>& stamps);

/// The inverse; nothing for anything else.
[[nodiscard]] std::optional<std::vector<FileStamp>> decode_stamps(std::string_view record);

}  // namespace kiln::storage
