#pragma once

#include <sys/types.h>

#include <filesystem>

namespace kiln::storage {

// What a group shares, made so that nobody meets it before it is the group's, and none is left that is not, whenever this process
// ends. The umask counts for nothing.

inline constexpr mode_t mode_of_shared_directories = 02770;
inline constexpr mode_t mode_of_shared_files = 0660;

enum class SharedDirectory {
  there,      ///< It was made, or another process made it meanwhile.
  not_made,   ///< errno tells why.
  not_given,  ///< It cannot be the group's, as errno tells.
};

/// Makes a directory of a group. Its parent is there.
[[nodiscard]] SharedDirectory make_shared_directory(const std::filesystem::path& directory,
                                                    gid_t group);

/// Makes a file that is not there yet, in a group's directory, and opens it with these flags. The descriptor is the caller's; -1
/// with errno, which is EEXIST where there is one.
[[nodiscard]] int make_shared_file(const std::filesystem::path& file, int flags);

}  // namespace kiln::storage
