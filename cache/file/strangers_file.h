#pragma once

#include "file/database.h"
#include "file/sqlite.h"
#include "kiln/error.h"

namespace kiln::storage {

// A database that somebody else may have written, and may write meanwhile, is input. SQLite runs what its schema says, so
// that it must be kiln's own whenever anything is read; a read has its time; and a value has its length.

/// A read of such a database: while it lives, all statements see one moment of it.
class StrangersRead {
 public:
  explicit StrangersRead(Database& database) noexcept;

  /// Where the schema has changed since it was checked, or never was, finds whether it is kiln's own and nothing beside it, as which
  /// it stays until the end of the read. REQUIRES: no statement before. Errors: cache_unusable, naming what is otherwise;
  /// io_failed.
  [[nodiscard]] Outcome begin();

 private:
  Database& database_;
  const Snapshot snapshot_;
};

}  // namespace kiln::storage
