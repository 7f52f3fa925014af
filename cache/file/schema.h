#pragma once

#include <optional>
#include <string>
#include <vector>

#include "file/sqlite.h"

namespace kiln::storage {

/// What a file turns out to hold.
enum class Content {
  current,       ///< A kiln cache of this schema; look_into() has set the connection up for it.
  none,          ///< Nothing yet: somebody is creating it, or never finished.
  foreign,       ///< A database that is none of kiln's.
  other_schema,  ///< One of kiln's that this version does not know.
  write_ahead,   ///< Somebody has put it into WAL mode, in which a read makes files.
  corrupt,       ///< No database, or a damaged one.
  unreadable,    ///< It could not be read; the connection knows why.
};

[[nodiscard]] Content look_into(Connection& connection);

/// Makes the tables in an empty database, in one transaction. False on failure.
[[nodiscard]] bool create_schema(Connection& connection);

/// Whether the file has the table `kernels`, as kiln defines it. Nothing where SQLite could not tell.
[[nodiscard]] std::optional<bool> has_kernels(Connection& connection);

/// Makes the table `kernels` where nothing has its name. Runs inside the caller's transaction. False on failure.
[[nodiscard]] bool create_kernels(Connection& connection);

/// A table or an index that is not as kiln makes it.
struct SchemaFault {
  std::string name;
  std::string problem;
};

/// All faults. A table or an index that a later kiln added is none, nor is a missing table `kernels`. Nothing where SQLite could not read.
[[nodiscard]] std::optional<std::vector<SchemaFault>> schema_faults(Connection& connection);

/// Whether this code of SQLite's means that the file itself is damaged.
[[nodiscard]] bool is_corrupt(int code) noexcept;

}  // namespace kiln::storage
