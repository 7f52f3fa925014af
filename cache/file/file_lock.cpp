#include "file/file_lock.h"

#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fmt/format.h>

#include "file/naps.h"
#include "file/private_path.h"
#include "system/descriptor.h"

namespace kiln::storage {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds longest_nap{2000};
constexpr std::chrono::microseconds shortest_nap{100};

/// How long to nap after a wait of this length. Whoever has waited longer naps shorter, so that the first to come is
/// likely to be served first, and nobody waits many times as long as others.
std::chrono::microseconds nap_after(Clock::duration waited) {
  const auto share = std::chrono::duration_cast<std::chrono::microseconds>(waited) / 8;
  return std::max(longest_nap - share, shortest_nap);
}

/// 0, or why there is no lock: EWOULDBLOCK where somebody else has it. flock() has no time limit of its own, hence the
/// polling.
int lock_within(int descriptor, std::chrono::milliseconds patience) {
  const auto begin = Clock::now();
  Naps naps;
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return errno;
    const auto waited = Clock::now() - begin;
    if (waited >= patience) return EWOULDBLOCK;
    naps.take(nap_after(waited));
  }
  return 0;
}

}  // namespace

Result<FileLock> FileLock::acquire(const std::filesystem::path& file,
                                   std::chrono::milliseconds patience, const Trust& trust) {
  if (auto usable = private_file_exists(file, trust); !usable)
    return tl::unexpected(usable.error());
  FileLock lock(file, trust);
  if (lock.descriptor_.get() < 0) {
    const int error = errno;
    return fail(ErrorCode::cache_unusable,
                fmt::format("cache lock '{}' cannot be opened: {}; {}", file.string(),
                            std::generic_category().message(error),
                            system::wants_descriptors(error)
                                ? system::remedy_for_descriptors
                                : "give the user the right to write it and its directory, or set "
                                  "KILN_CACHE_READONLY=1"));
  }
  const int error = lock_within(lock.descriptor_.get(), patience);
  if (error == 0) return lock;
  if (error == EWOULDBLOCK) {
    return fail(ErrorCode::io_failed,
                fmt::format("cache lock '{}' was held by another writer for {} ms; try again",
                            file.string(), patience.count()));
  }
  return fail(
      ErrorCode::cache_unusable,
      fmt::format("cache lock '{}' cannot be locked: {}; its filesystem has no locks: name a "
                  "directory on a disk of this machine",
                  file.string(), std::generic_category().message(error)));
}

FileLock::~FileLock() {
  // A child made by other means than fork() may share the open file: then the close alone does not unlock it.
  if (descriptor_.is_own()) ::flock(descriptor_.get(), LOCK_UN);
}

}  // namespace kiln::storage
