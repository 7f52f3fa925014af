#include "file/sqlite.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <iterator>
#include <limits>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "file/descriptor_vfs.h"
#include "file/naps.h"
#include "file/ofd_vfs.h"
#include "system/descriptor.h"
#include "system/no_fork.h"

namespace kiln::storage {

/// What a stranger's file may cost. SQLite looks at the clock after so many of its instructions, of which it runs some 20
/// million a second; but reading a definition is one, and takes memory for each column and index.
struct Allowance {
  std::chrono::milliseconds time;
  int instructions_between_looks;
  int longest_value;
  int most_arguments;  ///< Of a function; with none, SQLite takes no definition that calls one.
};

namespace {

constexpr Allowance for_schema{std::chrono::milliseconds(100), 100, 2 << 10, 0};
constexpr Allowance for_reading{std::chrono::seconds(1), 1000, 8 << 20, 8};
constexpr int most_columns_of_strangers = 32;

// A statement that waits for somebody else's commit takes naps that are shorter than the gap between two commits of
// writers that take turns. SQLite itself would nap for up to 100 ms, longer than any commit takes, and could miss its
// turn for seconds.
using Clock = std::chrono::steady_clock;
thread_local std::chrono::milliseconds patience = lock_patience;
constexpr std::chrono::microseconds nap{100};

int wait_for_lock(void*, int naps_so_far) {
  thread_local Clock::time_point deadline;
  thread_local Naps naps;
  if (naps_so_far == 0) {
    deadline = Clock::now() + patience;
    naps = {};
  }
  if (Clock::now() >= deadline) return 0;
  naps.take(nap);
  return 1;
}

/// What a person can do about it; empty where they can only try again.
std::string remedy_of(int code, int system_error) {
  if (system::wants_descriptors(system_error))
    return std::string("; ") + system::remedy_for_descriptors;
  switch (code & 0xff) {
    case SQLITE_FULL:
      return "; make room on its disk, as `kiln gc --max-size` does in a cache, or remove its "
             "directory";
    case SQLITE_BUSY:
      return "; another process is writing, or was stopped while it wrote: try again";
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return "; give the user the right to read and write it and its directory; to read it as it "
             "is, set KILN_CACHE_READONLY=1";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return "; a cache begins a new generation with `kiln clear --yes` or the first compile that "
             "comes upon it, and `kiln import` of this file may bring back what is sound in it";
    case SQLITE_INTERRUPT:
      return "; it takes more time than what a cache holds can: it is not asked again";
    case SQLITE_TOOBIG:
      return "; it holds a value that is longer than may be";
    default:
      return "";
  }
}

/// Of this thread's work alone: a slow disk and a busy machine are nobody's malice.
std::chrono::nanoseconds processor_time() noexcept {
  struct timespec time {};
  static_cast<void>(::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time));
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

int has_spent(void* spent_at) {
  return processor_time() > *static_cast<const std::chrono::nanoseconds*>(spent_at) ? 1 : 0;
}

bool distrust(sqlite3* handle) noexcept {
  const auto set = [&](int option, int value) {
    return sqlite3_db_config(handle, option, value, nullptr) == SQLITE_OK;
  };
  // A virtual table would hand what the file says to its module, and kiln has none.
  if (sqlite3_drop_modules(handle, nullptr) != SQLITE_OK) return false;
  return set(SQLITE_DBCONFIG_DEFENSIVE, 1) && set(SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0) &&
         set(SQLITE_DBCONFIG_ENABLE_TRIGGER, 0) && set(SQLITE_DBCONFIG_ENABLE_VIEW, 0);
}

}  // namespace

LockPatience::LockPatience(std::chrono::milliseconds time) noexcept
    : before_(std::exchange(patience, time)) {}

LockPatience::~LockPatience() { patience = before_; }

Result<Connection> Connection::open(const std::filesystem::path& file, Mode mode) {
  const system::NoFork no_fork;
  const int access = mode == Mode::read_write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  return open(file.c_str(), file, access | SQLITE_OPEN_NOFOLLOW, ofd_vfs());
}

Result<Connection> Connection::open(int descriptor, const std::filesystem::path& name) {
  const system::NoFork no_fork;
  const char* const vfs = descriptor_vfs();
  if (vfs == nullptr) {
    return fail(ErrorCode::io_failed,
                fmt::format("cache '{}': SQLite cannot be made to read it", name.string()));
  }
  return open(fmt::format("/{}", descriptor).c_str(), name, SQLITE_OPEN_READONLY, vfs);
}

Result<Connection> Connection::open(std::span<const std::byte> database) {
  const system::NoFork no_fork;
  auto connection = open(":memory:", ":memory:", SQLITE_OPEN_READWRITE, nullptr);
  if (!connection) return connection;
  // SQLite's signature has no const; READONLY keeps it from writing.
  auto* bytes = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(database.data()));
  const auto size = static_cast<sqlite3_int64>(database.size());
  if (sqlite3_deserialize(connection->handle_.get(), "main", bytes, size, size,
                          SQLITE_DESERIALIZE_READONLY) != SQLITE_OK) {
    return connection->failure("opening");
  }
  return connection;
}

Result<Connection> Connection::open(const char* file, const std::filesystem::path& name, int flags,
                                    const char* vfs) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(
      file, &handle, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE,
      vfs);
  Connection connection;
  connection.name_ = name.string();
  connection.handle_.reset(handle);
  if (code != SQLITE_OK) return connection.failure("opening");
  sqlite3_busy_handler(handle, wait_for_lock, nullptr);
  if (!distrust(handle)) return connection.failure("setting up");
  return connection;
}

void Connection::Close::operator()(sqlite3* handle) const noexcept {
  const system::NoFork no_fork;
  sqlite3_close_v2(handle);
}

void Connection::Finalize::operator()(sqlite3_stmt* handle) const noexcept {
  const system::NoFork no_fork;
  sqlite3_finalize(handle);
}

bool Connection::has_moved() noexcept {
  const system::NoFork no_fork;
  int moved = 0;
  return sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
         moved != 0;
}

std::optional<struct stat> Connection::status() noexcept {
  const system::NoFork no_fork;
  struct stat status {};
  const bool told =
      sqlite3_file_control(handle_.get(), "main", status_of_open_file, &status) == SQLITE_OK;
  return told ? std::optional(status) : std::nullopt;
}

bool Connection::keeps_a_log() noexcept {
  const system::NoFork no_fork;
  // The file format's write and read versions, offsets 18 and 19 of the header: 2 means WAL.
  constexpr unsigned char write_ahead[2] = {2, 2};
  sqlite3_file* file = nullptr;
  unsigned char versions[2] = {};
  return sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_FILE_POINTER, &file) ==
             SQLITE_OK &&
         file != nullptr && file->pMethods != nullptr &&
         file->pMethods->xRead(file, versions, sizeof versions, 18) == SQLITE_OK &&
         std::equal(std::begin(versions), std::end(versions), std::begin(write_ahead));
}

void Connection::distrust_schema() noexcept {
  const system::NoFork no_fork;
  if (spent_at_ == nullptr) spent_at_ = std::make_unique<std::chrono::nanoseconds>();
  sqlite3_limit(handle_.get(), SQLITE_LIMIT_COLUMN, most_columns_of_strangers);
  sqlite3_limit(handle_.get(), SQLITE_LIMIT_SQL_LENGTH, for_schema.longest_value);
  allow(for_schema);
}

void Connection::trust_schema() noexcept {
  const system::NoFork no_fork;
  allow(for_reading);
}

void Connection::allow(const Allowance& allowance) noexcept {
  auto* const handle = handle_.get();
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, allowance.longest_value);
  sqlite3_limit(handle, SQLITE_LIMIT_FUNCTION_ARG, allowance.most_arguments);
  *spent_at_ = processor_time() + allowance.time;
  sqlite3_progress_handler(handle, allowance.instructions_between_looks, has_spent,
                           spent_at_.get());
}

void Connection::restart_clock(std::chrono::milliseconds time) noexcept {
  if (spent_at_ == nullptr) return;
  restarted_at_ = processor_time();
  *spent_at_ = restarted_at_ + time;
}

std::chrono::nanoseconds Connection::time_taken() const noexcept {
  return processor_time() - restarted_at_;
}

bool Connection::has_given_out() noexcept {
  gave_out_ = gave_out_ || (spent_at_ != nullptr && has_spent(spent_at_.get()) != 0);
  return gave_out_;
}

int Connection::last_code() const noexcept {
  return gave_out_ ? SQLITE_INTERRUPT : sqlite3_extended_errcode(handle_.get());
}

int Connection::execute(const char* sql) noexcept {
  const system::NoFork no_fork;
  return sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
}

tl::unexpected<Error> Connection::failure(std::string_view doing) const {
  const system::NoFork no_fork;
  const int code = last_code();
  const bool is_of_system = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;
  const int error = is_of_system ? system_error() : 0;
  const auto systems_words = error != 0 ? ": " + std::generic_category().message(error) : "";
  return fail(
      ErrorCode::io_failed,
      fmt::format("cache '{}': {} failed: {}{} (SQLite code {}){}", name_, doing,
                  gave_out_ ? sqlite3_errstr(SQLITE_INTERRUPT) : sqlite3_errmsg(handle_.get()),
                  systems_words, code, remedy_of(code, error)),
      {}, code);
}

sqlite3_stmt* Connection::prepared(std::string_view sql) {
  if (const auto found = statements_.find(sql); found != statements_.end()) {
    return found->second.get();
  }
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                     SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (statement) statements_.emplace(sql, statement);
  return statement;
}

Statement::Statement(Connection& connection, std::string_view sql)
    : connection_(connection), handle_(connection.prepared(sql)) {
  if (!handle_) code_ = connection.last_code();
}

Statement::~Statement() {
  sqlite3_reset(handle_);
  if (handle_) sqlite3_clear_bindings(handle_);
}

void Statement::bind(int index, Blob value) noexcept {
  if (code_ != SQLITE_OK) return;
  // A null pointer would bind NULL instead of an empty blob.
  const char* data = value.bytes.data() ? value.bytes.data() : "";
  code_ = sqlite3_bind_blob64(handle_, index, data, value.bytes.size(), SQLITE_STATIC);
}

void Statement::bind(int index, std::string_view value) noexcept {
  if (code_ != SQLITE_OK) return;
  const char* data = value.data() ? value.data() : "";
  code_ = sqlite3_bind_text64(handle_, index, data, value.size(), SQLITE_STATIC, SQLITE_UTF8);
}

/// A parameter that is not bound is NULL.
void Statement::bind(int index, const std::optional<std::int64_t>& value) noexcept {
  if (code_ == SQLITE_OK && value) code_ = sqlite3_bind_int64(handle_, index, *value);
}

std::optional<bool> Statement::next() noexcept {
  if (code_ != SQLITE_OK) return std::nullopt;
  const int code = sqlite3_step(handle_);
  // A single instruction may take as long as a stranger's file is large, and fail in the end.
  if (connection_.has_given_out()) return std::nullopt;
  if (code != SQLITE_ROW && code != SQLITE_DONE) return std::nullopt;
  return code == SQLITE_ROW;
}

std::string_view Statement::blob(int column) noexcept {
  if (sqlite3_column_type(handle_, column) != SQLITE_BLOB) return {};
  const auto* data = static_cast<const char*>(sqlite3_column_blob(handle_, column));
  const int size = sqlite3_column_bytes(handle_, column);
  return data ? std::string_view(data, static_cast<std::size_t>(size)) : std::string_view();
}

std::string_view Statement::text(int column) noexcept {
  if (sqlite3_column_type(handle_, column) != SQLITE_TEXT) return {};
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(handle_, column));
  const int size = sqlite3_column_bytes(handle_, column);
  return data ? std::string_view(data, static_cast<std::size_t>(size)) : std::string_view();
}

std::optional<Digest> Statement::digest(int column) noexcept {
  const auto bytes = blob(column);
  Digest digest;
  if (bytes.size() != digest.bytes.size()) return std::nullopt;
  std::copy(bytes.begin(), bytes.end(), digest.bytes.begin());
  return digest;
}

std::int64_t Statement::integer(int column) noexcept {
  return sqlite3_column_int64(handle_, column);
}

std::uint64_t Statement::count(int column) noexcept {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(integer(column), 0));
}

bool Statement::is_null(int column) noexcept {
  return sqlite3_column_type(handle_, column) == SQLITE_NULL;
}

LongestValue::LongestValue(Connection& connection, std::uint64_t more) noexcept
    : handle_(connection.handle_.get()), before_(sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, -1)) {
  if (connection.spent_at_ == nullptr) return;
  const auto room = static_cast<std::uint64_t>(std::numeric_limits<int>::max() - before_);
  sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, before_ + static_cast<int>(std::min(more, room)));
}

LongestValue::~LongestValue() { sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, before_); }

Snapshot::Snapshot(Connection& connection) noexcept
    : connection_(connection),
      began_(!connection.in_transaction() && connection.execute("BEGIN") == SQLITE_OK) {}

Snapshot::~Snapshot() {
  if (began_) static_cast<void>(connection_.execute("ROLLBACK"));
}

JournalInMemory::JournalInMemory(Connection& connection) noexcept : connection_(connection) {
  static_cast<void>(connection_.execute("PRAGMA journal_mode=MEMORY"));
}

JournalInMemory::~JournalInMemory() {
  static_cast<void>(connection_.execute("PRAGMA journal_mode=DELETE"));
}

Transaction::~Transaction() {
  if (open_) static_cast<void>(connection_.execute("ROLLBACK"));
}

bool Transaction::begin() noexcept {
  open_ = connection_.execute("BEGIN IMMEDIATE") == SQLITE_OK;
  return open_;
}

bool Transaction::commit() noexcept {
  if (connection_.execute("COMMIT") != SQLITE_OK) return false;
  open_ = false;
  return true;
}

}  // namespace kiln::storage
