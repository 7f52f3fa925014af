#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/error.h"

namespace kiln::storage {

// Files and folders of a store that machines share. Nothing is locked: files appear whole, by renaming, and go.
// All errors are io_failed; they name the path and the remedy.

[[nodiscard]] tl::unexpected<Error> store_failure(const std::filesystem::path& path,
                                                  std::string_view doing, int error);

/// Makes the folder where there is none, with the rights of the one that it lies in, whatever the umask.
[[nodiscard]] Result<void> make_store_folder(const std::filesystem::path& folder);

/// Makes the file, 0644 whatever the umask, and its folder. Gives whether it was not there before: one of the same size is left as
/// it is, and marked as used; another one has been damaged, and is replaced.
[[nodiscard]] Result<bool> write_store_file(const std::filesystem::path& file,
                                            std::string_view bytes);

/// Writes down that the open file is used, where that is not written down for a day and may be.
void mark_store_file_used(int descriptor) noexcept;

/// The names in a folder that have so many lowercase hexadecimal digits; none where there is no such folder.
[[nodiscard]] Result<std::vector<std::string>> store_names_in(const std::filesystem::path& folder,
                                                              std::size_t digits);

/// Removes what writers left behind that died more than an hour ago.
void remove_left_behind(const std::filesystem::path& folder);

}  // namespace kiln::storage
