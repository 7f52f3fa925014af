#include "source/mounts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>

namespace kiln {

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

// Numbers of the kernel's uapi/linux/magic.h, iso9660's of its fs/isofs; they may lack in a libc's headers.
constexpr std::array<std::uint32_t, 5> kinds_of_images{
    0x73717368,  // squashfs
    0xe0f5e1e2,  // erofs
    0x28cd3d45,  // cramfs
    0x7275,      // romfs
    0x9660,      // iso9660
};

// STATX_MNT_ID_UNIQUE, which libc does not name yet.
constexpr unsigned unique_mount = 0x4000;

bool counts_whole_seconds(const FileStamp& stamp) {
  return stamp.modified_ns % second_ns == 0 && stamp.changed_ns % second_ns == 0;
}

bool is_image(const struct statfs& filesystem) {
  const auto kind = static_cast<std::uint32_t>(filesystem.f_type);
  return std::find(kinds_of_images.begin(), kinds_of_images.end(), kind) != kinds_of_images.end();
}

// Kernel headers before 5.8 have no such member.
template <class Status>
std::uint64_t mount_in(const Status& status) {
  if constexpr (requires { status.stx_mnt_id; }) {
    if ((status.stx_mask & unique_mount) != 0) return status.stx_mnt_id;
  }
  return 0;
}

std::uint64_t mount_of(int folder, const char* path, int flags) {
  struct statx status {};
  return ::statx(folder, path, flags, unique_mount, &status) == 0 ? mount_in(status) : 0;
}

}  // namespace

bool MountedImages::may_hold(const std::string& path, const FileStamp& stamp) {
  if (counts_whole_seconds(stamp)) return true;
  const auto [at, is_new] = devices_.try_emplace(stamp.device);
  if (is_new) {
    struct statfs filesystem {};
    at->second = ::statfs(path.c_str(), &filesystem) != 0 || is_image(filesystem);
  }
  return at->second;
}

bool may_be_of_image(int descriptor, const FileStamp& stamp) {
  struct statfs filesystem {};
  return counts_whole_seconds(stamp) || ::fstatfs(descriptor, &filesystem) != 0 ||
         is_image(filesystem);
}

std::uint64_t mount_of(const std::string& path) { return mount_of(AT_FDCWD, path.c_str(), 0); }

std::uint64_t mount_of(int descriptor) { return mount_of(descriptor, "", AT_EMPTY_PATH); }

}  // namespace kiln
