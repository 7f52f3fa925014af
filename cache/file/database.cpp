#include "file/database.h"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "file/file_lock.h"
#include "file/generation.h"
#include "file/private_path.h"
#include "file/schema.h"
#include "system/no_fork.h"

namespace kiln::storage {
namespace {

namespace fs = std::filesystem;
using Access = CacheOptions::Access;

tl::unexpected<Error> no_cache(const fs::path& directory) {
  return fail(ErrorCode::not_found, fmt::format("no cache at '{}'", directory.string()));
}

tl::unexpected<Error> unusable(const Error& cause) {
  return fail(ErrorCode::cache_unusable, cause.message, {}, cause.vendor_code);
}

Trust trust_of(const CacheOptions& options) { return {.cache = options.trust}; }

struct Opened {
  Connection connection;
  Content content;
};

Result<Opened> look_at(Result<Connection> connection, Writers writers) {
  // SQLite opens any file without a look at its content; look_into() tells what it holds.
  if (!connection) return unusable(connection.error());
  if (writers == Writers::anybody) connection->distrust_schema();
  const Content content = look_into(*connection);
  return Opened{std::move(*connection), content};
}

Result<Opened> open_file(const fs::path& file, Connection::Mode mode,
                         Writers writers = Writers::trusted) {
  const system::NoFork no_fork;
  return look_at(Connection::open(file, mode), writers);
}

Connection::Mode mode_of(const CacheOptions& options) {
  return options.access == Access::read_write ? Connection::Mode::read_write
                                              : Connection::Mode::read_only;
}

/// What SQLite will open beside the database has to be as private: it would follow a symlink.
Result<bool> private_database_exists(const fs::path& file, const CacheOptions& options) {
  auto of_journal = trust_of(options);
  of_journal.just_made = true;
  auto journal = private_file_exists(file.string() + "-journal", of_journal);
  if (!journal) return journal;
  return private_file_exists(file, trust_of(options));
}

/// What is wrong with a file that a new generation has to take the place of; empty if nothing is.
std::string fault_of(Content content) {
  switch (content) {
    case Content::foreign:
      return "is not a kiln cache";
    case Content::other_schema:
      return "has another schema than its name says";
    case Content::write_ahead:
      return "has been put into WAL mode";
    case Content::corrupt:
      return "is corrupt";
    case Content::current:
    case Content::none:
    case Content::unreadable:
      break;
  }
  return {};
}

/// The connection if its content is what it should be, else an error that says what it is.
Result<Database> current_or_refused(Opened opened, const fs::path& file, unsigned generation) {
  if (opened.content == Content::current) {
    return Database{std::move(opened.connection), file, generation};
  }
  // Whoever begins a later generation fills it under the writers' lock: there is a cache.
  if (opened.content == Content::none && generation > 1) {
    return fail(
        ErrorCode::cache_unusable,
        fmt::format("cache file '{}' is being made by another process: try again", file.string()),
        {}, SQLITE_BUSY);
  }
  if (opened.content == Content::none) return no_cache(file.parent_path());
  if (const auto fault = fault_of(opened.content); !fault.empty()) {
    const auto remedy = generation == 0
                            ? "name one that `kiln export` wrote"
                            : "the next process that opens it for writing leaves it as it is and "
                              "begins a new generation";
    return fail(ErrorCode::cache_unusable,
                fmt::format("{} '{}' {}; {}", generation == 0 ? "bundle" : "cache file",
                            file.string(), fault, remedy),
                {}, SQLITE_NOTADB);
  }
  return unusable(opened.connection.failure("reading").value());
}

/// REQUIRES: the writers' lock is held.
Result<Opened> open_or_fill(const fs::path& file, const CacheOptions& options) {
  if (auto made = make_private_file(file, trust_of(options)); !made)
    return tl::unexpected(made.error());
  if (auto usable = private_database_exists(file, options); !usable) {
    return tl::unexpected(usable.error());
  }
  const system::NoFork no_fork;
  auto opened = open_file(file, Connection::Mode::read_write);
  if (!opened || opened->content != Content::none) return opened;
  if (!create_schema(opened->connection)) {
    return unusable(opened->connection.failure("creating the schema").value());
  }
  return open_file(file, Connection::Mode::read_write);
}

/// The directory with no symlink left on the way to it: SQLite follows none at all, and a home
/// directory behind one is common. Errors: those of Cache::open().
Result<fs::path> settled_directory(const fs::path& directory, const CacheOptions& options) {
  const fs::path plain = (directory / "").lexically_normal().parent_path();
  if (!plain.is_absolute()) {
    return fail(
        ErrorCode::cache_unusable,
        fmt::format("cache path '{}' is not absolute; name an absolute one", directory.string()));
  }
  auto found = private_directory_exists(plain, trust_of(options));
  if (found && !*found) {
    if (options.access == Access::read_only) return no_cache(plain);
    if (auto made = make_private_directory(plain, trust_of(options)); !made)
      return tl::unexpected(made.error());
    found = private_directory_exists(plain, trust_of(options));
  }
  if (!found) return tl::unexpected(found.error());
  std::error_code error;
  fs::path real = fs::canonical(plain, error);
  if (error) {
    return fail(ErrorCode::cache_unusable, fmt::format("cache path '{}' cannot be resolved: {}",
                                                       plain.string(), error.message()));
  }
  // One that cannot be listed would look like one without a cache.
  if (::faccessat(AT_FDCWD, real.c_str(), R_OK | X_OK, AT_EACCESS) != 0) {
    return fail(ErrorCode::cache_unusable,
                fmt::format("cache path '{}' cannot be read: {}; name another cache directory",
                            real.string(), std::strerror(errno)));
  }
  return real;
}

/// Whether a writer died while it committed, so that nobody can read before the rest is taken back, which a
/// connection that only reads cannot do.
bool is_unfinished(const Opened& opened) {
  return opened.content == Content::unreadable &&
         opened.connection.last_code() == SQLITE_READONLY_ROLLBACK;
}

/// Whether somebody held a lock on it for longer than any commit takes.
bool is_locked(const Opened& opened) {
  return opened.content == Content::unreadable &&
         (opened.connection.last_code() & 0xff) == SQLITE_BUSY;
}

/// As each file of SQLite does (its file format, 1.3).
bool begins_as_database(int descriptor) {
  constexpr std::string_view magic("SQLite format 3\0", 16);
  std::array<char, magic.size()> begin{};
  return ::pread(descriptor, begin.data(), begin.size(), 0) == static_cast<ssize_t>(begin.size()) &&
         std::string_view(begin.data(), begin.size()) == magic;
}

/// Takes back what the dead writer left, if that may be: a look does it, by who may write.
void finish_commit(const fs::path& directory, const fs::path& file, const CacheOptions& options) {
  const auto lock = FileLock::acquire(directory / lock_name, writer_patience, trust_of(options));
  if (lock) static_cast<void>(open_file(file, Connection::Mode::read_write));
}

/// What a stranger put there as a journal, SQLite would carry out with this user's rights.
tl::unexpected<Error> unfinished_by_another(const fs::path& file) {
  return fail(
      ErrorCode::cache_unusable,
      fmt::format("cache file '{}' was left in the middle of a commit, and others may "
                  "have written it, so that only its owner may take that back: let that user "
                  "open it once",
                  file.string()));
}

/// Opens the current generation or begins one, under the writers' lock, since many processes may meet
/// at one empty directory or one corrupt file. Generations up to `corrupt` count as corrupt.
Result<Database> settle(const fs::path& directory, unsigned corrupt, const CacheOptions& options) {
  const auto lock = FileLock::acquire(directory / lock_name, writer_patience, trust_of(options));
  if (!lock) return unusable(lock.error());
  std::string set_aside;
  if (corrupt != 0) {
    set_aside =
        fmt::format("cache file '{}' is corrupt", (directory / generation_name(corrupt)).string());
  }
  unsigned generation = current_generation(directory);
  if (generation == 0 || generation <= corrupt) ++generation;
  // A file that was just made and reads back wrong is the disk's doing; more of them would not help.
  for (const unsigned end = generation + 2; generation != end; ++generation) {
    const fs::path file = directory / generation_name(generation);
    auto opened = open_or_fill(file, options);
    if (!opened) return tl::unexpected(opened.error());
    const auto fault = fault_of(opened->content);
    if (fault.empty()) {
      if (!set_aside.empty()) remove_generations_before(directory, generation - 1);
      auto database = current_or_refused(std::move(*opened), file, generation);
      if (database && !set_aside.empty()) {
        database->set_aside = fmt::format(
            "{}; it is left as it is and '{}' takes its place; "
            "`kiln import` may bring back what is sound in it, and then it may be removed",
            set_aside, file.string());
      }
      return database;
    }
    set_aside = fmt::format("cache file '{}' {}", file.string(), fault);
  }
  return fail(ErrorCode::cache_unusable,
              fmt::format("{}, though it was just made; name another cache directory", set_aside));
}

}  // namespace

Result<Database> open_database(const fs::path& directory, const CacheOptions& options,
                               Writers writers) {
  const auto real = settled_directory(directory, options);
  if (!real) return tl::unexpected(real.error());
  const bool may_write = options.access == Access::read_write;
  const unsigned generation = current_generation(*real);
  if (generation == 0) return may_write ? settle(*real, 0, options) : no_cache(*real);

  const fs::path file = *real / generation_name(generation);
  const auto exists = private_database_exists(file, options);
  if (!exists) return tl::unexpected(exists.error());
  if (!*exists) return may_write ? settle(*real, 0, options) : no_cache(*real);
  auto opened = open_file(file, mode_of(options), writers);
  if (opened && is_unfinished(*opened)) {
    if (writers == Writers::anybody || is_of_another(*real, options.trust))
      return unfinished_by_another(file);
    finish_commit(*real, file, options);
    opened = open_file(file, mode_of(options));
  }
  if (!opened) return tl::unexpected(opened.error());
  // Who opened it waited for that lock already, and would again behind the writers' lock, where others wait.
  if (is_locked(*opened)) return current_or_refused(std::move(*opened), file, generation);
  // An empty file is one that somebody is creating or never finished; and while somebody creates
  // it, a read may fail for reasons that are gone once they are done.
  if (may_write && opened->content != Content::current) {
    // Its handle must be gone first: closing it would drop the locks of the one to come.
    opened = tl::unexpected(Error{});
    return settle(*real, 0, options);
  }
  // What took the file's place between the look at it and the opening is not what was looked at.
  if (opened->connection.has_moved()) return no_cache(*real);
  return current_or_refused(std::move(*opened), file, generation);
}

Result<Database> open_generation_after(const fs::path& directory, unsigned corrupt,
                                       const CacheOptions& options) {
  return settle(directory, corrupt, options);
}

std::chrono::milliseconds put_patience(std::chrono::microseconds compile) noexcept {
  return std::clamp(std::chrono::duration_cast<std::chrono::milliseconds>(compile), lock_patience,
                    writer_patience);
}

bool is_superseded(Database& database) {
  if (database.generation == 0) return false;
  return database.connection.has_moved() ||
         current_generation(database.file.parent_path()) != database.generation;
}

Result<Database> open_bundle_file(const fs::path& file, const CacheOptions& options,
                                  Writers writers) {
  Trust trust{.cache = options.trust, .owned_by_root = true};
  trust.cache.group.reset();  // It says who shares a directory; a bundle has an owner.
  std::error_code told_by_the_opening;
  const auto there = fs::status(file, told_by_the_opening);
  if (fs::exists(there) && !fs::is_regular_file(there))
    return fail(
        ErrorCode::cache_unusable,
        fmt::format("bundle '{}' is {}; name a file that `kiln export` wrote", file.string(),
                    fs::is_directory(there) ? "a folder" : "not a regular file"));
  if (::faccessat(AT_FDCWD, file.c_str(), R_OK, AT_EACCESS) != 0 && errno == EACCES)
    return fail(
        ErrorCode::cache_unusable,
        fmt::format("bundle '{}' may not be read; give the user the right to", file.string()));
  const auto descriptor = open_private_file(file, trust);
  if (!descriptor) return tl::unexpected(descriptor.error());
  if (*descriptor < 0) {
    return fail(ErrorCode::not_found,
                fmt::format("no bundle at '{}'; kiln export writes one", file.string()));
  }
  const bool is_database = begins_as_database(*descriptor);
  auto opened = look_at(Connection::open(*descriptor, file), writers);
  ::close(*descriptor);
  if (!opened) return tl::unexpected(opened.error());
  if (!is_database || opened->content == Content::none || opened->content == Content::foreign) {
    return fail(
        ErrorCode::cache_unusable,
        fmt::format("'{}' is not a kiln bundle; name one that `kiln export` wrote", file.string()),
        {}, SQLITE_NOTADB);
  }
  return current_or_refused(std::move(*opened), file, 0);
}

Result<Database> open_bundle_bytes(std::span<const std::byte> bundle) {
  const system::NoFork no_fork;
  auto connection = Connection::open(bundle);
  if (!connection) return unusable(connection.error());
  if (look_into(*connection) != Content::current) {
    return fail(ErrorCode::cache_unusable,
                "the bundle in memory is no kiln bundle of this schema, or damaged; embed one that "
                "`kiln export` wrote");
  }
  return Database{std::move(*connection), {}, 0};
}

}  // namespace kiln::storage
