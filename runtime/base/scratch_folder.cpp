#include "base/scratch_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <string>
#include <system_error>
#include <utility>

#include "system/standard_streams.h"

namespace kiln {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "kiln-scratch-";
constexpr const char* lock_name = "in-use";

// The folder's lock, held; nothing where somebody else holds it or it cannot be had.
system::Descriptor hold(const fs::path& folder, int flags) {
  system::Descriptor lock(system::open_file((folder / lock_name).c_str(),
                                            flags | O_RDWR | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  if (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) lock.reset();
  return lock;
}

// Another process that sweeps may have had it first, and removed it: until it is locked, it looks left behind.
bool has_name(const system::Descriptor& lock) {
  struct stat status;
  return ::fstat(lock.get(), &status) == 0 && status.st_nlink != 0;
}
constexpr int most_tries = 100;

// How long a process may take from making its folder to locking it.
constexpr std::time_t time_to_lock = 60;

// Removes it if it is this user's, and a killed process left it behind. One without a lock is not removed where anything
// is in it.
void remove_if_left(const fs::path& folder) {
  struct stat status;
  if (::lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
      status.st_uid != ::geteuid())
    return;
  std::error_code ignored;
  if (const auto lock = hold(folder, 0)) {
    fs::remove_all(folder, ignored);
  } else if (std::time(nullptr) - status.st_mtime > time_to_lock) {
    ::rmdir(folder.c_str());
  }
}

void sweep(const fs::path& directory) {
  std::error_code failure;
  for (fs::directory_iterator item(directory, failure), end; !failure && item != end;
       item.increment(failure)) {
    if (item->path().filename().string().starts_with(prefix)) remove_if_left(item->path());
  }
}

}  // namespace

std::optional<ScratchFolder> ScratchFolder::make() {
  std::error_code failure;
  const auto directory = fs::temp_directory_path(failure);
  if (failure) return std::nullopt;
  sweep(directory);
  for (int tries = 0; tries < most_tries; ++tries) {
    std::string path = (directory / prefix).string() + "XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) return std::nullopt;
    auto lock = hold(path, O_CREAT | O_EXCL);
    if (lock && has_name(lock)) return ScratchFolder(std::move(path), std::move(lock));
    fs::remove_all(path, failure);
  }
  return std::nullopt;
}

ScratchFolder::ScratchFolder(fs::path path, system::Descriptor lock) noexcept
    : path_(std::move(path)), lock_(std::move(lock)), process_(::getpid()) {}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (lock_ && process_ == ::getpid()) fs::remove_all(path_, ignored);
}

}  // namespace kiln
