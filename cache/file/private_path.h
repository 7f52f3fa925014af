#pragma once

#include <filesystem>

#include "kiln/error.h"

namespace kiln::storage {

// A hit is code that runs on the GPU, so what holds it must be the user's own: owned by the
// effective user, not writable by others, of one name only, and no symlink that could lead elsewhere.

/// What is accepted beyond that.
struct Trust {
  bool writable_by_others = false;
  bool owned_by_root = false;  ///< For what is only read, such as a bundle in a container's image.
};

// All errors are cache_unusable; they name the path, what is the matter with it, and the remedy.

/// Makes the directory and each missing parent, all 0700. What exists already is left as it is.
[[nodiscard]] Result<void> make_private_directory(const std::filesystem::path& directory);

/// Whether there is a directory, which then is private. False when there is nothing.
[[nodiscard]] Result<bool> private_directory_exists(const std::filesystem::path& directory,
                                                    Trust trust = {});

/// Whether there is a regular file, which then is private. False when there is nothing.
/// Never opens it: closing any descriptor of a database drops the process's locks on it.
[[nodiscard]] Result<bool> private_file_exists(const std::filesystem::path& file, Trust trust = {});

/// Opens a regular file to read it, and then finds it private: what was looked at is what is open, whatever takes
/// its place. The descriptor is the caller's; -1 when there is nothing.
[[nodiscard]] Result<int> open_private_file(const std::filesystem::path& file, Trust trust = {});

/// Whether the path is the one name of the regular file that is open: asked after opening and before the
/// first write, because what was looked at before may have been replaced since.
[[nodiscard]] bool is_only_name_of(const char* path, int descriptor) noexcept;

/// Makes an empty file, 0600, where there is none; leaves one that exists as it is.
[[nodiscard]] Result<void> make_private_file(const std::filesystem::path& file);

}  // namespace kiln::storage
