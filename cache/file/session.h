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

/// Where keys are trusted and others may have written what is there, proof is asked for: it does not matter then whose the files
/// are, nothing is written, and the schema must be kiln's own and no more. That is decided at each opening, for what lies
/// there may be another directory than before.
[[nodiscard]] Result<Database> open_place(const Place& place, const CacheOptions& options);

/// One process's hold on a database. A forked child gets a session of its own and leaves its parent's where it is,
/// locked or not: to close it would end the parent's transactions and drop the parent's locks.
struct Session {
  explicit Session(int process_id) : process(process_id) {}

  const int process;

  std::mutex opening;  ///< A thread that opens the database takes this one first.
  std::mutex mutex;    ///< Guards all below.
  std::optional<Database> database;
  std::set<std::int64_t> used;  ///< Ids of entries that were hit and not marked yet.
  CacheCounters told;           ///< What the database's history holds of this process's counters.
  unsigned corrupt_generation = 0;  ///< The generation that is known to be corrupt; 0 for none.
  std::chrono::steady_clock::time_point not_before{};  ///< When to try again to open it.
  bool given_up = false;  ///< A stranger's that took too much time: it is not asked again.
  std::chrono::nanoseconds
      unproven{};  ///< What slow reads took that led to nothing which anybody signed.

  Session* next_abandoned = nullptr;
};

/// Keeps a session of the parent process reachable, so that no tool takes it for a leak, and does nothing to it.
void abandon(Session* session) noexcept;

}  // namespace kiln::storage
