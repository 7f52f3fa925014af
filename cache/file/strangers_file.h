#pragma once

#include "file/database.h"
#include "file/sqlite.h"
#include "kiln/error.h"

namespace kiln::storage {

// A database that somebody else may have written, and may write meanwhile, is input. SQLite runs what its schema says, so
// that it must be kiln's own whenever anything is read; a read has its time; and a value has its length.

/// Finds whether the schema is kiln's own and nothing beside it, and remembers its version. Within a transaction of the caller's,
/// as long as which it stays so. Errors: cache_unusable, naming what is otherwise.
[[nodiscard]] Result<void> check_schema(Database& database);

/// A read of such a database: while it lives, all statements see one moment of it.
class StrangersRead {
 public:
  explicit StrangersRead(Database& database) noexcept;

  /// Checks the schema again where it has changed. REQUIRES: no statement before. Errors: as of check_schema(); io_failed.
  [[nodiscard]] Result<void> begin();

 private:
  Database& database_;
  const Snapshot snapshot_;
};

}  // namespace kiln::storage
