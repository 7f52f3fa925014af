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

std::optional<std::int64_t> version_of_schema(Connection& connection) {
  return connection.integer("PRAGMA schema_version");
}

/// Whoever made the name may have made it for the terminal that shows it.
std::string plain(std::string name) {
  constexpr std::size_t longest = 64;
  const auto is_odd = [](unsigned char letter) { return letter < ' ' || letter > '~'; };
  std::ranges::replace_if(name, is_odd, '?');
  return name.substr(0, longest);
}

}  // namespace

Result<void> check_schema(Database& database) {
  const auto version = version_of_schema(database.connection);
  const auto objects = version ? foreign_objects(database.connection) : std::nullopt;
  if (objects && objects->empty()) {
    database.checked_schema = version;
    return {};
  }
  const auto what =
      objects ? fmt::format("{} {}", plain(objects->front().name), objects->front().problem)
              : "its schema cannot be read";
  return fail(ErrorCode::cache_unusable,
              fmt::format("'{}' is not as kiln makes it, and others may have written it: {}",
                          database.file.string(), what),
              {}, objects ? 0 : database.connection.last_code());
}

StrangersRead::StrangersRead(Database& database) noexcept
    : database_(database), snapshot_(with_its_time(database.connection)) {}

Result<void> StrangersRead::begin() {
  const auto version = snapshot_ ? version_of_schema(database_.connection) : std::nullopt;
  if (!version) return database_.connection.failure("reading its schema");
  return version == database_.checked_schema ? Result<void>() : check_schema(database_);
}

}  // namespace kiln::storage
