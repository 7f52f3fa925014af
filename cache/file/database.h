#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "file/sqlite.h"
#include "kiln/cache.h"
#include "kiln/error.h"

namespace kiln::storage {

/// The two lock files of a cache directory: the writers', and that of the turns to compile.
inline constexpr const char* lock_name = "kernels.v1.lock";
inline constexpr const char* turns_file_name = "kernels.v1.flights";

/// How long a write waits for other writers.
inline constexpr std::chrono::milliseconds writer_patience{15000};

/// How long the statements of a put wait for a lock: as long as another compile of what it stores would take, at least
/// lock_patience, and no longer than other writes.
[[nodiscard]] std::chrono::milliseconds put_patience(std::chrono::microseconds compile) noexcept;

/// After a wait in vain, writers only try the lock for so long.
inline constexpr std::chrono::seconds lock_despair{30};

/// An open database of this schema.
struct Database {
  Connection connection;
  std::filesystem::path file;  ///< Empty for one in memory.
  unsigned generation = 0;     ///< 0 for a bundle.
  /// What is wrong with the generation before, where this opening has found that out.
  std::string set_aside = {};
  /// Of a stranger's: the version of the schema that was found to be kiln's own (strangers_file.h).
  std::optional<std::int64_t> checked_schema = {};
};

/// Who may have written a database.
enum class Writers {
  trusted,  ///< By the rights of the files.
  anybody,  ///< Then it is input: it is only read, nothing is taken back for who wrote it, and SQLite distrusts its content.
};

/// Opens the current generation in this directory, after it has checked that both are private. If `options` allow
/// writing, it makes what is missing, and begins a new generation where the current file is corrupt or none of kiln's.
/// Errors: those of Cache::open().
[[nodiscard]] Result<Database> open_database(const std::filesystem::path& directory,
                                             const CacheOptions& options,
                                             Writers writers = Writers::trusted);

/// Opens the generation after `corrupt`, which somebody found corrupt, and makes it unless another process has. Keeps
/// at most one older generation. Errors: those of Cache::open().
[[nodiscard]] Result<Database> open_generation_after(const std::filesystem::path& directory,
                                                     unsigned corrupt, const CacheOptions& options);

/// Whether the name of this database stands for another file by now, or a later generation is there.
[[nodiscard]] bool is_superseded(Database& database);

[[nodiscard]] Result<Database> open_bundle_file(const std::filesystem::path& file,
                                                const CacheOptions& options,
                                                Writers writers = Writers::trusted);
[[nodiscard]] Result<Database> open_bundle_bytes(std::span<const std::byte> bundle);

}  // namespace kiln::storage
