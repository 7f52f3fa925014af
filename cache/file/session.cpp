#include "file/session.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "file/private_path.h"
#include "file/strangers_file.h"
#include "system/no_fork.h"

namespace kiln::storage {

namespace {

/// Who set no key pays for no look around.
bool asks_of_directories(const Place& place, const CacheOptions& options) noexcept {
  return !options.trusted_keys.empty() && place.kind == Place::Kind::directory &&
         !options.trust.group;
}

bool is_of_others(Database& database) noexcept {
  const auto status = database.connection.status();
  return status && (status->st_uid != ::geteuid() || (status->st_mode & (S_IWGRP | S_IWOTH)) != 0);
}

bool may_be_strangers(const Place& place, const CacheOptions& options) noexcept {
  if (options.trusted_keys.empty() || place.kind == Place::Kind::bundle_bytes) return false;
  return place.kind == Place::Kind::bundle_file || options.shipped ||
         (asks_of_directories(place, options) && may_be_of_others(place.path));
}

Result<Database> open(const Place& place, const CacheOptions& options, Writers writers) {
  switch (place.kind) {
    case Place::Kind::bundle_file:
      return open_bundle_file(place.path, options, writers);
    case Place::Kind::bundle_bytes:
      return open_bundle_bytes(place.bytes);
    case Place::Kind::directory:
      break;
  }
  return open_database(place.path, options, writers);
}

/// Whether it says that it is much longer than what it takes on the disk. kiln's have no holes, and what SQLite takes memory and
/// time for can be as long as a file says that it is. Some filesystems do not tell.
bool is_mostly_holes(const std::filesystem::path& file) noexcept {
  constexpr std::int64_t block = 512;
  constexpr std::int64_t most_times = 8;
  constexpr std::int64_t small = std::int64_t{16} << 20;
  struct stat status;
  return ::stat(file.c_str(), &status) == 0 && status.st_size > small && status.st_blocks > 0 &&
         status.st_size > most_times * block * status.st_blocks;
}

Result<Database> open_of_strangers(const Place& place, CacheOptions options) {
  options.trust = {.others = true, .any_owner = true};
  options.access = CacheOptions::Access::read_only;
  // Whoever opens a cache of its own waits for long. A stranger may hold a lock for ever.
  const LockPatience patience(lock_patience);
  auto opened = open(place, options, Writers::anybody);
  if (!opened) return opened;
  if (is_mostly_holes(opened->file)) {
    return fail(
        ErrorCode::cache_unusable,
        fmt::format("'{}' has more holes than content, and others may have written it: copy "
                    "it without holes if you trust it",
                    opened->file.string()));
  }
  const system::NoFork no_fork;
  auto checked = StrangersRead(*opened).begin();
  if (!checked) return tl::unexpected(std::move(checked.error()));
  return opened;
}

}  // namespace

Result<Database> open_place(const Place& place, const CacheOptions& options) {
  if (may_be_strangers(place, options)) return open_of_strangers(place, options);
  auto opened = open(place, options, Writers::trusted);
  // Another directory may have taken its place between the look and the opening, and given it back since.
  const bool is_strangers =
      may_be_strangers(place, options) ||
      (asks_of_directories(place, options) && opened && is_of_others(*opened));
  return is_strangers ? open_of_strangers(place, options) : std::move(opened);
}

void abandon(Session* session) noexcept {
  static std::atomic<Session*> abandoned = nullptr;
  session->next_abandoned = abandoned;
  while (!abandoned.compare_exchange_weak(session->next_abandoned, session)) {
  }
}

}  // namespace kiln::storage
