#include "file/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "file/fork_guard.h"
#include "file/private_path.h"
#include "system/no_fork.h"
#include "system/standard_streams.h"

namespace kiln::storage {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds longest_nap{2000};
constexpr std::chrono::microseconds shortest_nap{100};

/// How long to nap after having waited so long: the longer, the shorter, so that who came first is likely
/// to be served first, and nobody waits for many times what others do.
std::chrono::microseconds nap_after(Clock::duration waited) {
  const auto share = std::chrono::duration_cast<std::chrono::microseconds>(waited) / 8;
  return std::max(longest_nap - share, shortest_nap);
}

/// flock() has no time limit of its own, hence the polling.
bool lock_within(int descriptor, std::chrono::milliseconds patience) {
  const auto begin = Clock::now();
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return false;
    const auto waited = Clock::now() - begin;
    if (waited >= patience) return false;
    std::this_thread::sleep_for(nap_after(waited));
  }
  return true;
}

}  // namespace

Result<FileLock> FileLock::acquire(const std::filesystem::path& file,
                                   std::chrono::milliseconds patience, Trust trust) {
  if (auto usable = private_file_exists(file, trust); !usable)
    return tl::unexpected(usable.error());
  // Until close_in_children() knows of it.
  std::optional<system::NoFork> no_fork(std::in_place);
  // O_NONBLOCK and O_NOFOLLOW: what takes the file's place after the look at it must not hold us up.
  const int descriptor = system::open_file(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK,
                                           S_IRUSR | S_IWUSR);
  if (descriptor < 0) {
    return fail(ErrorCode::cache_unusable,
                fmt::format("cache lock '{}' cannot be opened: {}; give the user the right to "
                            "write it and its directory, or set KILN_CACHE_READONLY=1",
                            file.string(), std::generic_category().message(errno)));
  }
  FileLock lock(descriptor);
  no_fork.reset();
  if (!lock_within(descriptor, patience)) {
    return fail(ErrorCode::io_failed,
                fmt::format("cache lock '{}' was held by another writer for {} ms; try again",
                            file.string(), patience.count()));
  }
  return lock;
}

FileLock::FileLock(int descriptor) noexcept : descriptor_(descriptor), process_(::getpid()) {
  close_in_children(descriptor_);
}

FileLock::FileLock(FileLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), process_(other.process_) {}

FileLock::~FileLock() {
  if (descriptor_ < 0 || process_ != ::getpid()) return;
  const system::NoFork no_fork;
  forget_in_children(descriptor_);
  // Said aloud, because a child forked by other means than fork() may share it past the close.
  ::flock(descriptor_, LOCK_UN);
  ::close(descriptor_);
}

}  // namespace kiln::storage
