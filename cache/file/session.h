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
  bool of_others = false;  ///< Of a directory: whether others may have written it.
};

/// Whether others wrote what is there, so that it serves only where a trusted key has signed it: where keys are trusted at all.
[[nodiscard]] bool asks_for_proof(const Place& place, const CacheOptions& options) noexcept;

/// Where proof is asked for, it does not matter whose the files are, and the schema must be kiln's own and no more.
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

  Session* next_abandoned = nullptr;
};

/// Keeps a session of the parent process reachable, so that no tool takes it for a leak, and does nothing to it.
void abandon(Session* session) noexcept;

}  // namespace kiln::storage
