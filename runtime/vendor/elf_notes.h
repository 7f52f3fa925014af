#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "kiln/error.h"

namespace kiln::vendor {

/// The GNU build-id of an ELF64 file, as hexadecimal digits, read from its notes with plain reads: the
/// file is not mapped. Errors: io_failed, saying what the file is not; also for one that is cut short,
/// which the loader must not be given.
[[nodiscard]] Result<std::string> build_id(const std::filesystem::path& file);

}  // namespace kiln::vendor
