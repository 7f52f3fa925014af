#include "schema.h"

#include <cstdint>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "file_lock.h"
#include "private_path.h"

namespace kiln::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t application_id = 0x6b696c6e;  // "kiln"; in create_schema as well
constexpr std::int64_t schema_version = 1;

// Small columns stand first, so that a listing reads no page beyond the one that a row begins in;
// rowid tables throughout, because blobs in others take up to twice the room.
//
// One transaction, so that nobody ever sees half a schema. Incremental vacuum lets free pages be given
// back in small steps; it is chosen before the first page is made, hence no BEGIN IMMEDIATE.
constexpr const char* create_schema = R"sql(
BEGIN;
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA application_id = 0x6b696c6e;
PRAGMA user_version = 1;
CREATE TABLE texts(
  id INTEGER PRIMARY KEY,
  digest BLOB NOT NULL UNIQUE,
  raw_bytes INTEGER NOT NULL,
  frame BLOB NOT NULL);
CREATE TABLE dependency_sets(
  id INTEGER PRIMARY KEY,
  digest BLOB NOT NULL UNIQUE,
  frame BLOB NOT NULL);
CREATE TABLE witnesses(
  id INTEGER PRIMARY KEY,
  dependencies INTEGER NOT NULL,
  roots BLOB NOT NULL,
  frame BLOB NOT NULL,
  UNIQUE(dependencies, roots));
CREATE TABLE entries(
  id INTEGER PRIMARY KEY,
  key BLOB NOT NULL UNIQUE,
  request BLOB NOT NULL,
  toolchain BLOB NOT NULL,
  source BLOB NOT NULL,
  dependencies INTEGER,
  image_bytes INTEGER NOT NULL,
  kernels INTEGER NOT NULL,
  compile_us INTEGER NOT NULL,
  created INTEGER NOT NULL,
  arch TEXT NOT NULL,
  kind TEXT NOT NULL,
  toolchain_text TEXT NOT NULL,
  program TEXT NOT NULL,
  material BLOB NOT NULL,
  payload BLOB NOT NULL);
CREATE INDEX entries_by_request ON entries(request);
CREATE INDEX entries_by_source ON entries(source);
CREATE INDEX entries_by_dependencies ON entries(dependencies);
COMMIT;
)sql";

enum class Content { current, none, foreign, other_schema, unreadable };

Content look_into(Connection& connection) {
  const auto pages = connection.integer("PRAGMA page_count");
  if (!pages) {
    return connection.last_code() == SQLITE_NOTADB ? Content::foreign : Content::unreadable;
  }
  if (*pages == 0) return Content::none;
  const auto id = connection.integer("PRAGMA application_id");
  const auto version = connection.integer("PRAGMA user_version");
  if (!id || !version) return Content::unreadable;
  if (*id != application_id) return Content::foreign;
  return *version == schema_version ? Content::current : Content::other_schema;
}

/// No mmap, because a file that somebody truncates would end the process with a signal.
constexpr const char* settings =
    "PRAGMA mmap_size=0; PRAGMA cell_size_check=ON; PRAGMA synchronous=FULL";

tl::unexpected<Error> no_cache(const fs::path& directory) {
  return fail(ErrorCode::not_found, fmt::format("no cache at '{}'", directory.string()));
}

tl::unexpected<Error> unusable(const Error& cause) {
  return fail(ErrorCode::cache_unusable, cause.message, {}, cause.vendor_code);
}

struct Opened {
  Connection connection;
  Content content;
};

Result<Opened> open_file(const fs::path& file, Cache::Access access) {
  const auto mode = access == Cache::Access::read_write ? Connection::Mode::read_write
                                                        : Connection::Mode::read_only;
  auto connection = Connection::open(file, mode);
  if (!connection) return unusable(connection.error());
  Content content = look_into(*connection);
  if (content == Content::current && connection->execute(settings) != SQLITE_OK) {
    content = Content::unreadable;
  }
  return Opened{std::move(*connection), content};
}

/// The connection if its content is what it should be, else an error that says what it is.
Result<Connection> current_or_refused(Opened opened, const fs::path& file) {
  const auto refuse = [&](const char* problem) {
    return fail(ErrorCode::cache_unusable,
                fmt::format("cache file '{}' {}; move it away or name another cache directory",
                            file.string(), problem));
  };
  switch (opened.content) {
    case Content::current:
      return std::move(opened.connection);
    case Content::none:
      return no_cache(file.parent_path());
    case Content::foreign:
      return refuse("is not a kiln cache");
    case Content::other_schema:
      return refuse("has another schema than this kiln knows");
    case Content::unreadable:
      break;
  }
  return unusable(opened.connection.failure("reading").value());
}

/// Under the writers' lock, since many processes may meet at one empty directory.
Result<Connection> open_or_create(const fs::path& directory) {
  const fs::path file = directory / database_name;
  auto lock = FileLock::acquire(directory / lock_name, writer_patience);
  if (!lock) return unusable(lock.error());
  if (auto made = make_private_file(file); !made) return tl::unexpected(made.error());
  if (auto usable = private_file_exists(file); !usable) return tl::unexpected(usable.error());
  auto opened = open_file(file, Cache::Access::read_write);
  if (!opened) return tl::unexpected(opened.error());
  if (opened->content == Content::none) {
    if (opened->connection.execute(create_schema) != SQLITE_OK) {
      return unusable(opened->connection.failure("creating the schema").value());
    }
    opened = open_file(file, Cache::Access::read_write);
    if (!opened) return tl::unexpected(opened.error());
  }
  return current_or_refused(std::move(*opened), file);
}

/// The directory with no symlink left on the way to it: SQLite follows none at all, and a home
/// directory behind one is common. Errors: those of Cache::open().
Result<fs::path> settled_directory(const fs::path& directory, bool may_make) {
  const fs::path plain = (directory / "").lexically_normal().parent_path();
  if (!plain.is_absolute()) {
    return fail(
        ErrorCode::cache_unusable,
        fmt::format("cache path '{}' is not absolute; name an absolute one", directory.string()));
  }
  auto found = private_directory_exists(plain);
  if (found && !*found) {
    if (!may_make) return no_cache(plain);
    if (auto made = make_private_directory(plain); !made) return tl::unexpected(made.error());
    found = private_directory_exists(plain);
  }
  if (!found) return tl::unexpected(found.error());
  std::error_code error;
  fs::path real = fs::canonical(plain, error);
  if (error) {
    return fail(ErrorCode::cache_unusable, fmt::format("cache path '{}' cannot be resolved: {}",
                                                       plain.string(), error.message()));
  }
  return real;
}

}  // namespace

Result<Connection> open_database(const fs::path& directory, Cache::Access access) {
  const bool may_make = access == Cache::Access::read_write;
  const auto real = settled_directory(directory, may_make);
  if (!real) return tl::unexpected(real.error());
  const fs::path file = *real / database_name;
  const auto exists = private_file_exists(file);
  if (!exists) return tl::unexpected(exists.error());
  if (!*exists) return may_make ? open_or_create(*real) : no_cache(*real);

  auto opened = open_file(file, access);
  if (!opened) return tl::unexpected(opened.error());
  // An empty file is one that somebody is creating or never finished; and while somebody creates
  // it, a read may fail for reasons that are gone once they are done.
  const bool unsettled = opened->content == Content::none || opened->content == Content::unreadable;
  if (unsettled && may_make) return open_or_create(*real);
  return current_or_refused(std::move(*opened), file);
}

}  // namespace kiln::storage
