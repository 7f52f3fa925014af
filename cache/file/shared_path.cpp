#include "file/shared_path.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "system/standard_streams.h"

namespace kiln::storage {
namespace {

namespace fs = std::filesystem;

bool is_empty(int directory) {
  // A copy, which closedir() closes, and which is above the standard streams like all that kiln opens.
  const int copy = ::fcntl(directory, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  DIR* const names = copy < 0 ? nullptr : ::fdopendir(copy);
  if (names == nullptr) {
    if (copy >= 0) ::close(copy);
    return false;
  }
  int count = 0;
  while (::readdir(names) != nullptr) ++count;
  ::closedir(names);
  return count <= 2;  // "." and ".."
}

// Gives a directory that this process just made to the group. Where others may write in its parent, they may have put another
// one in its place.
bool give_to_group(const std::string& made, gid_t group) {
  const int descriptor = system::open_file(made.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (descriptor < 0) return false;
  struct stat status;
  const bool own = ::fstat(descriptor, &status) == 0 && status.st_uid == ::geteuid() &&
                   (status.st_mode & 077) == 0 && is_empty(descriptor);
  if (!own) errno = EPERM;
  const bool given = own && ::fchown(descriptor, static_cast<uid_t>(-1), group) == 0 &&
                     ::fchmod(descriptor, mode_of_shared_directories) == 0;
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return given;
}

// Some filesystems know no renaming that spares what is there: then an empty directory may be replaced.
bool name_directory(const std::string& made, const fs::path& directory) {
  return ::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, directory.c_str(), RENAME_NOREPLACE) == 0 ||
         (errno != EEXIST && ::rename(made.c_str(), directory.c_str()) == 0);
}

SharedDirectory take_back(const std::string& made, SharedDirectory outcome) {
  const int error = errno;
  ::rmdir(made.c_str());
  errno = error;
  return outcome;
}

// A file without a name, where the filesystem has such: it gets its name when it has its rights.
int open_unnamed(const fs::path& folder) {
  return system::open_file(folder.c_str(), O_WRONLY | O_TMPFILE, mode_of_shared_files);
}

bool name_file(int descriptor, const fs::path& file) {
  const auto opened = fmt::format("/proc/self/fd/{}", descriptor);
  return ::linkat(AT_FDCWD, opened.c_str(), AT_FDCWD, file.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

}  // namespace

SharedDirectory make_shared_directory(const fs::path& directory, gid_t group) {
  auto made = directory.string() + ".XXXXXX";
  if (::mkdtemp(made.data()) == nullptr) return SharedDirectory::not_made;
  if (!give_to_group(made, group)) return take_back(made, SharedDirectory::not_given);
  if (name_directory(made, directory)) return SharedDirectory::there;
  const bool there = errno == ENOTEMPTY || errno == EEXIST;
  return take_back(made, there ? SharedDirectory::there : SharedDirectory::not_made);
}

int make_shared_file(const fs::path& file, int flags) {
  const int unnamed = open_unnamed(file.parent_path());
  if (unnamed >= 0) {
    const bool named = ::fchmod(unnamed, mode_of_shared_files) == 0 && name_file(unnamed, file);
    const int error = errno;
    ::close(unnamed);
    if (named) return system::open_file(file.c_str(), flags | O_NOFOLLOW | O_NONBLOCK);
    errno = error;
    if (error == EEXIST) return -1;
  }
  const int made =
      system::open_file(file.c_str(), flags | O_CREAT | O_EXCL | O_NOFOLLOW, mode_of_shared_files);
  // Where that fails, who meets it says so.
  if (made >= 0) static_cast<void>(::fchmod(made, mode_of_shared_files));
  return made;
}

}  // namespace kiln::storage
