#pragma once

#include <chrono>
#include <filesystem>

#include "kiln/cache.h"
#include "kiln/error.h"
#include "sqlite.h"

namespace kiln::storage {

/// The database and lock of a cache directory. Another schema is another file name.
inline constexpr const char* database_name = "kernels.v1.db";
inline constexpr const char* lock_name = "kernels.v1.lock";

/// How long a write waits for other writers.
inline constexpr std::chrono::milliseconds writer_patience{5000};

/// Opens the database of this directory, checked to be private and of this schema; makes what is
/// missing where `access` allows it. Errors: those of Cache::open().
[[nodiscard]] Result<Connection> open_database(const std::filesystem::path& directory,
                                               Cache::Access access);

}  // namespace kiln::storage
