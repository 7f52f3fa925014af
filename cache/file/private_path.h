#pragma once

#include <sys/types.h>

#include <filesystem>

#include "kiln/cache_trust.h"
#include "kiln/error.h"

namespace kiln::storage {

// A hit is code that runs on the GPU, so the file and the directory that hold it must be private: they belong to the
// effective user, nobody else may write to them, they have one name, and they are no symlinks.

/// What a caller accepts beyond that.
struct Trust {
  CacheTrust cache = {};
  bool owned_by_root =
      false;  ///< For files that are only read, such as a bundle in a container's image.
};

/// The rights of the files that are made: 0600, or 0660 for a group.
[[nodiscard]] mode_t mode_of_files(const Trust& trust) noexcept;

/// Gives them to a file that was just made, in which the umask had a say. False with errno.
[[nodiscard]] bool set_rights(int descriptor, mode_t mode) noexcept;

// All errors are cache_unusable; they name the path, what is the matter with it, and the remedy.

/// Makes the directory and each missing parent, all 0700, or 2770 for a group. What exists already is left as it is.
[[nodiscard]] Result<void> make_private_directory(const std::filesystem::path& directory,
                                                  const Trust& trust = {});

/// Whether there is a directory, which then is private. False when there is nothing.
[[nodiscard]] Result<bool> private_directory_exists(const std::filesystem::path& directory,
                                                    const Trust& trust = {});

/// Whether there is a regular file, which then is private. False when there is nothing.
/// Never opens it: closing any descriptor of a database drops the process's locks on it.
[[nodiscard]] Result<bool> private_file_exists(const std::filesystem::path& file,
                                               const Trust& trust = {});

/// Opens a regular file to read it, and then checks the open file: nothing can take its place between the check and
/// the reading. The descriptor is the caller's; -1 when there is nothing.
[[nodiscard]] Result<int> open_private_file(const std::filesystem::path& file,
                                            const Trust& trust = {});

/// Whether the path is the only name of the open regular file. Callers ask after the opening and before the first
/// write, because somebody may have replaced the file that they checked before.
[[nodiscard]] bool is_only_name_of(const char* path, int descriptor) noexcept;

/// Makes an empty file where there is none; leaves one that exists as it is.
[[nodiscard]] Result<void> make_private_file(const std::filesystem::path& file,
                                             const Trust& trust = {});

}  // namespace kiln::storage
