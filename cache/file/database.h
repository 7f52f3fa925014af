#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "file/sqlite.h"
#include "kiln/cache.h"
#include "kiln/error.h"

namespace kiln::storage {

/// The locks of a cache directory: that of the writers, and that of the turns to compile.
inline constexpr const char* lock_name = "kernels.v1.lock";
inline constexpr const char* turns_file_name = "kernels.v1.flights";

/// How long a write waits for other writers.
inline constexpr std::chrono::milliseconds writer_patience{15000};

/// How long the statements of a put wait: as long as making again what it stores would take, but for a moment at
/// least, and no longer than other writes.
[[nodiscard]] std::chrono::milliseconds put_patience(std::chrono::microseconds compile) noexcept;

/// How long the lock is only tried after a wait for it was in vain.
inline constexpr std::chrono::seconds lock_despair{30};

/// An open database of this schema.
struct Database {
  Connection connection;
  std::filesystem::path file;  ///< Empty for one in memory.
  unsigned generation = 0;     ///< 0 for a bundle.
  std::string set_aside =
      {};  ///< What was wrong with the generation before, if that was found now.
};

/// Opens the current generation in this directory, checked to be private; makes what is missing, and
/// a new generation where the current one is corrupt or none of kiln's, if `options` allow writing.
/// Errors: those of Cache::open().
[[nodiscard]] Result<Database> open_database(const std::filesystem::path& directory,
                                             const CacheOptions& options);

/// Opens the generation after `corrupt`, which has been found corrupt; makes it unless another process
/// has. At most one older generation is kept. Errors: those of Cache::open().
[[nodiscard]] Result<Database> open_generation_after(const std::filesystem::path& directory,
                                                     unsigned corrupt, const CacheOptions& options);

/// Whether the database of that name is another file by now, or a later generation is there.
[[nodiscard]] bool is_superseded(Database& database);

[[nodiscard]] Result<Database> open_bundle_file(const std::filesystem::path& file,
                                                const CacheOptions& options);
[[nodiscard]] Result<Database> open_bundle_bytes(std::span<const std::byte> bundle);

}  // namespace kiln::storage
