#include "file/file_system.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace kiln::storage {
namespace {

namespace fs = std::filesystem;

struct Known {
  std::uint32_t number;
  const char* name;
  bool locks_may_be_local;
  bool overwrites_in_place = false;
};

constexpr std::uint32_t fuse = 0x65735546;

// The numbers are those of Linux's linux/magic.h; of the filesystems that have none there, their own. Whose locks hold for a
// cluster in one configuration and for one machine in another counts as the latter.
constexpr std::array<Known, 24> known_file_systems{
    {{0xef53, "ext", false, true},   {0x58465342, "xfs", false},
     {0x9123683e, "btrfs", false},   {0xf2f52010, "f2fs", false},
     {0x2fc12fc1, "zfs", false},     {0x01021994, "tmpfs", false, true},
     {0x794c7630, "overlay", false}, {0x6969, "nfs", true},
     {0x517b, "smb", true},          {0xff534d42, "cifs", true},
     {0xfe534d42, "smb2", true},     {0x00c36400, "ceph", true},
     {0x0bd00bd0, "lustre", true},   {0x47504653, "gpfs", true},
     {0x19830326, "beegfs", true},   {0x20030528, "orangefs", true},
     {0xaad7aaea, "panfs", true},    {0x01161970, "gfs2", true},
     {0x7461636f, "ocfs2", true},    {0x5346414f, "afs", true},
     {0x6b414653, "kafs", true},     {0x73757245, "coda", true},
     {0x01021997, "9p", true},       {0x786f4256, "vboxsf", true}}};

// Made by programs, of what lies on a disk of this machine.
constexpr std::array<std::string_view, 6> local_fuse{
    "fuseblk", "fuse.fuse-overlayfs", "fuse.gocryptfs", "fuse.encfs", "fuse.cryfs", "fuse.ntfs-3g"};

// As the table of mounts has it; empty where that has none for the device.
std::string mounted_type_of(dev_t device) {
  const auto wanted = fmt::format("{}:{}", major(device), minor(device));
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string mount, parent, number;
    words >> mount >> parent >> number;
    const auto type = line.find(" - ");
    if (number != wanted || type == std::string::npos) continue;
    return line.substr(type + 3, line.find(' ', type + 3) - type - 3);
  }
  return {};
}

}  // namespace

FileSystem file_system(std::uint32_t number, const std::string& mounted_as) {
  if (number == fuse) {
    const bool local = std::ranges::find(local_fuse, mounted_as) != local_fuse.end();
    return {mounted_as.empty() ? "fuse" : mounted_as, !local};
  }
  const auto* const known = std::ranges::find(known_file_systems, number, &Known::number);
  if (known == known_file_systems.end()) return {fmt::format("0x{:x}", number)};
  return {known->name, known->locks_may_be_local, known->overwrites_in_place};
}

FileSystem file_system_of(fs::path folder) {
  std::error_code ignored;
  while (!fs::exists(folder, ignored) && folder.has_relative_path()) folder = folder.parent_path();
  struct statfs filesystem {};
  if (::statfs(folder.c_str(), &filesystem) != 0) return {"unknown"};
  const auto number = static_cast<std::uint32_t>(filesystem.f_type);
  struct stat status {};
  const bool made_by_program = number == fuse && ::stat(folder.c_str(), &status) == 0;
  return file_system(number, made_by_program ? mounted_type_of(status.st_dev) : "");
}

}  // namespace kiln::storage
