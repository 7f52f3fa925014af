#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "kiln/error.h"

namespace kiln::vendor {

/// The GNU build-id of an ELF64 file, as hexadecimal digits, read from its notes with plain reads: the file
/// is not mapped. Empty where it has none. Errors: io_failed for a file that is no such library, and for one
/// that is cut short, which the loader must not be given.
[[nodiscard]] Result<std::string> build_id(const std::filesystem::path& file);

/// What tells one build of a library from another: its build-id. Where it has none, as NVRTC before 12.9, a
/// digest of its size and of pages spread over all of it: two builds agree in hardly any page, and reading a
/// hundred megabytes would take longer than a hit. Errors: those of build_id().
[[nodiscard]] Result<std::string> library_identity(const std::filesystem::path& file);

}  // namespace kiln::vendor
