#pragma once

#include <sys/stat.h>

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
  /// For files that SQLite makes: for a moment those of a group have fewer rights, by the umask.
  bool just_made = false;
};

/// Makes a file that is not there yet, 0600, or 0660 for a group whatever the umask, and opens it with these flags. The
/// descriptor is the caller's; -1 with errno, which is EEXIST where there is one.
[[nodiscard]] int make_file(const std::filesystem::path& file, int flags, const Trust& trust);

// All errors are cache_unusable; they name the path, what is the matter with it, and the remedy.

/// Makes the directory and each missing parent, all 0700; for a group the directory alone, 2770. What exists already
/// is left as it is.
[[nodiscard]] Outcome make_private_directory(const std::filesystem::path& directory,
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

/// Whether a regular file is private, for who has opened it himself; `path` is for the message.
[[nodiscard]] Outcome check_private(const std::filesystem::path& path, const struct stat& status,
                                    const Trust& trust);

/// Whether another user owns the directory, and no group shares it. His own processes could not use what this one
/// would make there.
[[nodiscard]] bool is_of_another(const std::filesystem::path& directory,
                                 const CacheTrust& trust) noexcept;

/// Whether somebody else may have written there: he owns the directory or a database in it, or may write one of them.
[[nodiscard]] bool may_be_of_others(const std::filesystem::path& directory) noexcept;

/// Whether the path is the only name of the open regular file. Callers ask after the opening and before the first
/// write, because somebody may have replaced the file that they checked before.
[[nodiscard]] bool is_only_name_of(const char* path, int descriptor) noexcept;

/// Makes an empty file where there is none; leaves one that exists as it is.
[[nodiscard]] Outcome make_private_file(const std::filesystem::path& file, const Trust& trust = {});

}  // namespace kiln::storage
