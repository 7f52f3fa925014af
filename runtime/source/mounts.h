#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "kiln/request.h"

namespace kiln {

// Two reproducible images of a filesystem may hold files of equal inodes, sizes and times whose contents differ, and one image
// may be mounted in the place of the other: a rollout beside a cache that stays. So a stamp tells such a file from others only
// as long as the mount is the same.

/// Tells which files may be of an image, so that their stamps hold only within a mount. Looks at each device once. For one
/// thread.
class MountedImages {
 public:
  /// Whether the file may be of an image: all its times are whole seconds, or its filesystem is of a kind that is made whole
  /// and only read. If an overlay lies on an image, only the times tell.
  [[nodiscard]] bool may_hold(const std::string& path, const FileStamp& stamp);

 private:
  std::map<std::uint64_t, bool> devices_;
};

/// The same for one open file.
[[nodiscard]] bool may_be_of_image(int descriptor, const FileStamp& stamp);

/// The number of the mount through which a file is seen, a link followed. No two mounts get the same number while the machine
/// runs. 0 if the kernel does not tell (before Linux 6.8).
[[nodiscard]] std::uint64_t mount_of(const std::string& path);
[[nodiscard]] std::uint64_t mount_of(int descriptor);

}  // namespace kiln
