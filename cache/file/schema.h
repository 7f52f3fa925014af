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

/// Tables that came later, and that a file of this schema need not have. Whatever else may have such a name is left alone.
enum class LaterTable {
  kernels,     ///< See rows/kernel_list.h.
  signatures,  ///< See rows/signature_list.h.
};

/// Whether the file has this table, as kiln defines it. Nothing where SQLite could not tell.
[[nodiscard]] std::optional<bool> has_table(Connection& connection, LaterTable table);

/// Makes this table where nothing has its name. Runs inside the caller's transaction. False on failure.
[[nodiscard]] bool create_table(Connection& connection, LaterTable table);

/// A table or an index that is not as kiln makes it.
struct SchemaFault {
  std::string name;
  std::string problem;
};

/// All faults. A table or an index that a later kiln added is none, nor is a missing LaterTable. Nothing where SQLite
/// could not read.
[[nodiscard]] std::optional<std::vector<SchemaFault>> schema_faults(Connection& connection);

/// The same, and what else could make a statement of kiln's give what no table of kiln's holds, in a stranger's file:
/// a view, a trigger, a virtual table, another's index. Tables of other names are none. Nothing where SQLite could not
/// read.
[[nodiscard]] std::optional<std::vector<SchemaFault>> foreign_objects(Connection& connection);

/// Whether this code of SQLite's means that the file itself is damaged.
[[nodiscard]] bool is_corrupt(int code) noexcept;

}  // namespace kiln::storage
