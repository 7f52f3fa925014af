#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "file/database.h"
#include "kiln/cache.h"

namespace kiln::storage {

/// Where the database of a Cache comes from.
struct Place {
  enum class Kind { directory, bundle_file, bundle_bytes };

  Kind kind = Kind::directory;
  std::filesystem::path path = {};
  std::span<const std::byte> bytes = {};
};

[[nodiscard]] Result<Database> open_place(const Place& place, const CacheOptions& options);

/// One process's hold on a database. A child that was forked gets another one and leaves this where it
/// is, locked as it may be: closing it would end transactions and drop locks of the parent.
struct Session {
  explicit Session(int process_id) : process(process_id) {}

  const int process;

  std::mutex opening;  ///< Taken before the other, by who opens the database.
  std::mutex mutex;    ///< Guards all below.
  std::optional<Database> database;
  std::set<std::int64_t> used;  ///< Ids of entries that were hit and not marked yet.
  CacheCounters told;           ///< What the database's history holds of this process's counters.
  unsigned corrupt_generation = 0;  ///< The one that was found corrupt, until another is open.
  std::chrono::steady_clock::time_point not_before{};  ///< When to try again to open it.

  Session* next_abandoned = nullptr;
};

/// Leaves a session of the parent process where it is, reachable, so that nobody takes it for a leak.
void abandon(Session* session) noexcept;

}  // namespace kiln::storage
