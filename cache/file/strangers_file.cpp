#include "file/strangers_file.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "file/schema.h"

namespace kiln::storage {
namespace {

Connection& with_its_time(Connection& connection) noexcept {
  connection.restart_clock();
  return connection;
}

/// Whoever made the name may have made it for the terminal that shows it.
std::string plain(std::string name) {
  constexpr std::size_t longest = 64;
  const auto is_odd = [](unsigned char letter) { return letter < ' ' || letter > '~'; };
  std::ranges::replace_if(name, is_odd, '?');
  return name.substr(0, longest);
}

/// Whether the schema is kiln's own and nothing beside it, as the file says and as SQLite has read it.
Outcome check_schema(Database& database) {
  const auto objects = foreign_objects(database.connection);
  if (objects && objects->empty()) return {};
  const auto what =
      objects ? fmt::format("{} {}", plain(objects->front().name), objects->front().problem)
              : "its schema cannot be read";
  return fail(ErrorCode::cache_unusable,
              fmt::format("'{}' is not as kiln makes it, and others may have written it: {}",
                          database.file.string(), what),
              {}, objects ? 0 : database.connection.last_code());
}

}  // namespace

StrangersRead::StrangersRead(Database& database) noexcept
    : database_(database), snapshot_(with_its_time(database.connection)) {}

Outcome StrangersRead::begin() {
  auto& connection = database_.connection;
  const auto version = snapshot_ ? connection.integer("PRAGMA schema_version") : std::nullopt;
  if (!version) return connection.failure("reading its schema");
  if (version == database_.checked_schema) return {};
  connection.distrust_schema();
  // Any statement has SQLite read the schema, if it has another one.
  if (!connection.has_row("SELECT 1 FROM sqlite_schema"))
    return connection.failure("reading its schema");
  connection.trust_schema();
  auto checked = check_schema(database_);
  if (checked) database_.checked_schema = version;
  return checked;
}

}  // namespace kiln::storage
