#pragma once

#include <sys/stat.h>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include <sqlite3.h>

#include "kiln/digest.h"
#include "kiln/error.h"
#include "system/no_fork.h"

namespace kiln::storage {

/// How long somebody else's commit or reading may hold up a statement.
inline constexpr std::chrono::milliseconds lock_patience{1000};

/// Replaces lock_patience for its thread, for as long as it lives.
class LockPatience {
 public:
  explicit LockPatience(std::chrono::milliseconds time) noexcept;
  LockPatience(const LockPatience&) = delete;
  LockPatience& operator=(const LockPatience&) = delete;
  ~LockPatience();

 private:
  const std::chrono::milliseconds before_;
};

struct Allowance;

/// An open database and its prepared statements, which it keeps. Every call of SQLite's is made under a NoFork.
/// Not thread-safe.
class Connection {
 public:
  enum class Mode {
    read_write,
    read_only,
  };

  /// Opens an existing file and distrusts it: SQLite runs none of its triggers and views, and follows no
  /// symlink on the way. Reads nothing of it yet.
  [[nodiscard]] static Result<Connection> open(const std::filesystem::path& file, Mode mode);

  /// Opens the file of a descriptor, which stays the caller's, read-only and without locks. REQUIRES: nobody changes
  /// the file while it is open. `name` is for people.
  [[nodiscard]] static Result<Connection> open(int descriptor, const std::filesystem::path& name);

  /// Opens a database that lies in memory, read-only. The bytes are borrowed.
  [[nodiscard]] static Result<Connection> open(std::span<const std::byte> database);

  /// From now on what is open is a stranger's (file/strangers_file.h), and its schema is read next: SQLite evaluates parts of that
  /// when it reads it, so that it may call no function, and no value of it may be long. Call it before any statement.
  void distrust_schema() noexcept;

  /// The schema that SQLite has read is kiln's own, and is not read again before distrust_schema() is called.
  void trust_schema() noexcept;

  /// Where the content is a stranger's, what runs from now on has its time anew, of its thread's processor.
  void restart_clock(std::chrono::milliseconds time = std::chrono::seconds(1)) noexcept;

  /// What was taken of it.
  [[nodiscard]] std::chrono::nanoseconds time_taken() const noexcept;

  /// Runs statements that give no rows. Gives SQLite's result code.
  [[nodiscard]] int execute(const char* sql) noexcept;

  // One statement each, with `sql` and values as for Statement.

  /// Runs a statement that gives no row. False where SQLite refused it.
  template <class... Values>
  [[nodiscard]] bool run(std::string_view sql, const Values&... values);

  /// The one integer that the statement gives; nothing where it gives none.
  template <class... Values>
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view sql, const Values&... values);

  /// Whether the statement gives a row; nothing where SQLite could not tell.
  template <class... Values>
  [[nodiscard]] std::optional<bool> has_row(std::string_view sql, const Values&... values);

  /// The row id of the last insert.
  [[nodiscard]] std::int64_t last_inserted() const noexcept {
    return sqlite3_last_insert_rowid(handle_.get());
  }

  /// Whether the file that is open is no longer the one of its name.
  [[nodiscard]] bool has_moved() noexcept;

  /// Of the file that is open, whatever its name stands for by now; nothing where that cannot be told.
  [[nodiscard]] std::optional<struct stat> status() noexcept;

  /// Whether the file says that it has a write-ahead log. Ask before any statement: a statement would open that
  /// log.
  [[nodiscard]] bool keeps_a_log() noexcept;

  /// errno of SQLite's last failed call of the system.
  [[nodiscard]] int system_error() const noexcept { return sqlite3_system_errno(handle_.get()); }

  /// SQLite's extended code of the last failure.
  [[nodiscard]] int last_code() const noexcept;

  /// The last failure as an error value: what kiln was doing, to which file, and what SQLite says.
  [[nodiscard]] tl::unexpected<Error> failure(std::string_view doing) const;

  /// Whether a transaction is open.
  [[nodiscard]] bool in_transaction() const noexcept {
    return sqlite3_get_autocommit(handle_.get()) == 0;
  }

 private:
  friend class Statement;
  friend class LongestValue;
  struct Close {
    void operator()(sqlite3* handle) const noexcept;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const noexcept;
  };

  [[nodiscard]] static Result<Connection> open(const char* file, const std::filesystem::path& name,
                                               int flags, const char* vfs);

  void allow(const Allowance& allowance) noexcept;

  /// Whether a stranger's file has taken its time: from then on each statement ends with SQLITE_INTERRUPT.
  [[nodiscard]] bool has_given_out() noexcept;

  /// Null where SQLite cannot prepare it; last_code() tells why.
  [[nodiscard]] sqlite3_stmt* prepared(std::string_view sql);

  std::string name_;  ///< For people.
  /// When a stranger's statement has taken its time, on its thread's processor. SQLite keeps the address.
  std::unique_ptr<std::chrono::nanoseconds> spent_at_;
  std::chrono::nanoseconds restarted_at_{};
  bool gave_out_ = false;
  std::unique_ptr<sqlite3, Close> handle_;
  std::unordered_map<std::string_view, std::unique_ptr<sqlite3_stmt, Finalize>> statements_;
};

/// Bytes that a statement takes as a blob and not as text.
struct Blob {
  std::string_view bytes;
};

/// One use of a prepared statement: binds values, gives rows, and at its end resets the statement for the next use.
/// It borrows the values. What a column gives is valid until the next row.
class Statement {
 public:
  /// REQUIRES: `sql` has static lifetime, and no other Statement of the same text is alive.
  Statement(Connection& connection, std::string_view sql);

  /// Binds the values to the parameters 1, 2, …: digests and Blobs as blobs, integers, texts, and an optional integer
  /// that holds none as NULL.
  template <class... Values>
  requires(sizeof...(Values) > 0)
      Statement(Connection& connection, std::string_view sql, Values&&... values)
      : Statement(connection, sql) {
    static_assert((is_kept<Values> && ...), "a temporary is gone before the statement runs");
    int index = 0;
    (bind(++index, values), ...);
  }
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Goes to the next row and tells whether there is one; nothing where SQLite refused something, now or when it
  /// prepared the statement and bound the values.
  [[nodiscard]] std::optional<bool> next() noexcept;

  /// Calls `look` at each of the other rows. False where SQLite refused something.
  template <class Look>
  [[nodiscard]] bool for_each(const Look& look) {
    auto there = next();
    for (; there == true; there = next()) look();
    return there.has_value();
  }

  /// Runs a statement that gives no row. False where SQLite refused it.
  [[nodiscard]] bool run() noexcept { return next() == false; }

  /// A column of the current row; nothing or empty where it is of another type.
  [[nodiscard]] std::string_view blob(int column) noexcept;
  [[nodiscard]] std::string_view text(int column) noexcept;
  [[nodiscard]] std::optional<Digest> digest(int column) noexcept;
  [[nodiscard]] std::int64_t integer(int column) noexcept;
  /// An integer that is never negative but by damage: then it is 0.
  [[nodiscard]] std::uint64_t count(int column) noexcept;
  [[nodiscard]] bool is_null(int column) noexcept;

 private:
  template <class Value>
  static constexpr bool is_kept =
      std::is_lvalue_reference_v<Value> ||
      !(std::same_as<Value, Digest> || std::same_as<Value, std::string>);

  void bind(int index, Blob value) noexcept;
  void bind(int index, std::string_view value) noexcept;
  void bind(int index, const std::optional<std::int64_t>& value) noexcept;
  void bind(int index, const Digest& value) noexcept { bind(index, Blob{value.view()}); }
  template <std::integral Number>
  void bind(int index, Number value) noexcept {
    bind(index, std::optional(static_cast<std::int64_t>(value)));
  }

  const system::NoFork no_fork_;  ///< First, so that it is there when the statement is prepared.
  Connection& connection_;
  sqlite3_stmt* handle_;
  int code_ = SQLITE_OK;
};

template <class... Values>
bool Connection::run(std::string_view sql, const Values&... values) {
  return Statement(*this, sql, values...).run();
}

template <class... Values>
std::optional<std::int64_t> Connection::integer(std::string_view sql, const Values&... values) {
  Statement row(*this, sql, values...);
  return row.next() == true ? std::optional(row.integer(0)) : std::nullopt;
}

template <class... Values>
std::optional<bool> Connection::has_row(std::string_view sql, const Values&... values) {
  return Statement(*this, sql, values...).next();
}

/// While it lives, a value of a stranger's may have so many bytes more than any may: a longer one is refused with SQLITE_TOOBIG. Of
/// a file that is no stranger's, SQLite's own limit holds.
class LongestValue {
 public:
  LongestValue(Connection& connection, std::uint64_t more) noexcept;
  ~LongestValue();
  LongestValue(const LongestValue&) = delete;
  LongestValue& operator=(const LongestValue&) = delete;

 private:
  sqlite3* const handle_;
  const int before_;
};

/// A read transaction: while it lives, all reads see one moment of the database, under one lock. Within another
/// transaction it is a part of that one.
class Snapshot {
 public:
  explicit Snapshot(Connection& connection) noexcept;
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  explicit operator bool() const noexcept { return connection_.in_transaction(); }

 private:
  Connection& connection_;
  const bool began_;
};

/// While it lives, the connection keeps the journals of its transactions in memory and not beside the file: they take no room
/// on the disk. A commit that is cut short, by the end of the process or a write that fails, then leaves a damaged file.
class JournalInMemory {
 public:
  explicit JournalInMemory(Connection& connection) noexcept;
  JournalInMemory(const JournalInMemory&) = delete;
  JournalInMemory& operator=(const JournalInMemory&) = delete;
  ~JournalInMemory();

 private:
  Connection& connection_;
};

/// A write transaction. Rolls back unless it was committed.
class Transaction {
 public:
  explicit Transaction(Connection& connection) noexcept : connection_(connection) {}
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  /// Takes the write lock at once: a transaction that begins with a read may not get it later.
  [[nodiscard]] bool begin() noexcept;
  [[nodiscard]] bool commit() noexcept;

 private:
  Connection& connection_;
  bool open_ = false;
};

}  // namespace kiln::storage
