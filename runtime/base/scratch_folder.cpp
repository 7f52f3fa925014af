#include "base/scratch_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <system_error>
#include <utility>

#include "system/standard_streams.h"

namespace kiln {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "kiln-scratch-";
constexpr const char* lock_name = "in-use";

// The folder's lock, held; -1 where somebody else holds it or it cannot be had.
int hold(const fs::path& folder, int flags) {
  const int lock = system::open_file((folder / lock_name).c_str(), flags | O_RDWR | O_NOFOLLOW,
                                     S_IRUSR | S_IWUSR);
  if (lock >= 0 && ::flock(lock, LOCK_EX | LOCK_NB) == 0) return lock;
  if (lock >= 0) ::close(lock);
  return -1;
}

bool is_own_folder(const fs::path& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid();
}

// What killed processes left behind.
void sweep(const fs::path& directory) {
  std::error_code failure;
  for (fs::directory_iterator item(directory, failure), end; !failure && item != end;
       item.increment(failure)) {
    if (!item->path().filename().string().starts_with(prefix) || !is_own_folder(item->path()))
      continue;
    const int lock = hold(item->path(), 0);
    if (lock < 0) continue;
    std::error_code ignored;
    fs::remove_all(item->path(), ignored);
    ::close(lock);
  }
}

}  // namespace

std::optional<ScratchFolder> ScratchFolder::make() {
  std::error_code failure;
  const auto directory = fs::temp_directory_path(failure);
  if (failure) return std::nullopt;
  sweep(directory);
  std::string path = (directory / prefix).string() + "XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return std::nullopt;
  const int lock = hold(path, O_CREAT | O_EXCL);
  if (lock < 0) {
    fs::remove_all(path, failure);
    return std::nullopt;
  }
  return ScratchFolder(std::move(path), lock);
}

ScratchFolder::ScratchFolder(fs::path path, int lock) noexcept
    : path_(std::move(path)), lock_(lock), process_(::getpid()) {}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::move(other.path_)),
      lock_(std::exchange(other.lock_, -1)),
      process_(other.process_) {}

ScratchFolder::~ScratchFolder() {
  if (lock_ < 0) return;
  std::error_code ignored;
  if (process_ == ::getpid()) fs::remove_all(path_, ignored);
  ::close(lock_);
}

}  // namespace kiln
