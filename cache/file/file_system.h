#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace kiln::storage {

struct FileSystem {
  std::string
      name;  ///< E.g. "ext", "nfs", "fuse.sshfs"; the number of one that has no name here; "unknown".
  /// Whether another machine may hold a lock of a file there and this one may get it as well.
  bool locks_may_be_local = false;
  /// Whether what is written over a file's own bytes takes no room: nothing is copied on write.
  bool overwrites_in_place = false;
};

/// The filesystem of a folder, or of the next one above it that there is.
[[nodiscard]] FileSystem file_system_of(std::filesystem::path folder);

/// One by its number in statfs(2), and by the type that the table of mounts has for it, which tells those apart that are made
/// by programs.
[[nodiscard]] FileSystem file_system(std::uint32_t number, const std::string& mounted_as);

}  // namespace kiln::storage
