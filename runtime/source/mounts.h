#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "kiln/request.h"

namespace kiln {

// Images of a filesystem that are made to be reproducible hold files of equal inodes, sizes and times whose
// contents differ, and one image may be mounted in the place of another: a rollout beside a cache that stays.
// What a file looks like tells it from others then only as long as the mount is the same.

/// Which files may be of an image, so that their looks tell them only within a mount. Looks at each device once. One
/// thread's.
class MountedImages {
 public:
  /// Whether the file may be one of an image: all its times are whole seconds, or its filesystem is of a kind
  /// that is made whole and only read. Where an overlay lies on an image, its times alone tell.
  [[nodiscard]] bool may_hold(const std::string& path, const FileStamp& stamp);

 private:
  std::map<std::uint64_t, bool> devices_;
};

/// The same of one file that is open.
[[nodiscard]] bool may_be_of_image(int descriptor, const FileStamp& stamp);

/// The mount through which a file is seen, a link followed, by a number that is given once while the machine
/// runs; 0 where the kernel does not tell (before Linux 6.8).
[[nodiscard]] std::uint64_t mount_of(const std::string& path);
[[nodiscard]] std::uint64_t mount_of(int descriptor);

}  // namespace kiln
