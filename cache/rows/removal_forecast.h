#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "file/sqlite.h"

namespace kiln::storage {

/// What the removal of entries, one after the other, would free, without a change to the file. Takes memory for each text
/// and each dependency set.
class RemovalForecast {
 public:
  /// Borrows the connection. Nothing where SQLite refused something.
  [[nodiscard]] static std::optional<RemovalForecast> read(Connection& connection);

  /// The bytes of pages that go with this entry: its own rows, and those that only it and the entries before it needed. As near
  /// as can be told: a page is free when its last row is gone. Nothing where SQLite refused something.
  [[nodiscard]] std::optional<std::uint64_t> remove(std::int64_t entry);

 private:
  using Needs = std::unordered_map<std::int64_t, std::int64_t>;  ///< By the row that is needed.

  explicit RemovalForecast(Connection& connection) : connection_(&connection) {}
  bool count(const char* sql, Needs& needs);
  bool remove_set(std::int64_t set, std::uint64_t& freed);
  bool remove_text(std::int64_t text, std::uint64_t& freed);

  Connection* connection_;
  Needs sets_;
  Needs texts_;
};

}  // namespace kiln::storage
