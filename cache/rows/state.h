#pragma once

#include <cstdint>
#include <string_view>

#include "file/sqlite.h"

namespace kiln::storage {

// The table `state` holds numbers by name: the marks' clock, the history. These run inside the caller's transaction.

/// 0 where there is none.
[[nodiscard]] inline std::int64_t state(Connection& connection, std::string_view name) {
  return connection.integer("SELECT value FROM state WHERE name = ?", name).value_or(0);
}

/// False where SQLite refuses.
[[nodiscard]] inline bool set_state(Connection& connection, std::string_view name,
                                    std::int64_t value) {
  return connection.run("INSERT OR REPLACE INTO state(name, value) VALUES(?, ?)", name, value);
}

}  // namespace kiln::storage
