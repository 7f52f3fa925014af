#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include <sqlite3.h>

#include "kiln/digest.h"
#include "kiln/error.h"
#include "system/no_fork.h"

namespace kiln::storage {

/// How long somebody else's commit or reading may hold up a statement.
inline constexpr std::chrono::milliseconds lock_patience{1000};

/// For as long as this lives, that of its thread is another.
class LockPatience {
 public:
  explicit LockPatience(std::chrono::milliseconds time) noexcept;
  LockPatience(const LockPatience&) = delete;
  LockPatience& operator=(const LockPatience&) = delete;
  ~LockPatience();

 private:
  const std::chrono::milliseconds before_;
};

/// An open database and the statements prepared on it, which are kept. Whatever asks SQLite has a NoFork
/// meanwhile. Not thread-safe.
class Connection {
 public:
  enum class Mode {
    read_write,
    read_only,
  };

  /// Opens an existing file, distrusting what it says of itself: its triggers and views do not run,
  /// and no symlink on the way is followed. Reads nothing of it yet.
  [[nodiscard]] static Result<Connection> open(const std::filesystem::path& file, Mode mode);

  /// Opens the file of a descriptor, which stays the caller's, read-only. Nobody changes it while it is open: no
  /// locks, no journal. `name` is for people.
  [[nodiscard]] static Result<Connection> open(int descriptor, const std::filesystem::path& name);

  /// Opens a database that lies in memory, read-only. The bytes are borrowed.
  [[nodiscard]] static Result<Connection> open(std::span<const std::byte> database);

  /// Runs statements that give no rows. Gives SQLite's result code.
  [[nodiscard]] int execute(const char* sql) noexcept;

  /// The one integer that the statement gives. REQUIRES: `sql` as for Statement.
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view sql);

  [[nodiscard]] bool read_only() const noexcept;

  /// The row id of the last insert.
  [[nodiscard]] std::int64_t last_inserted() const noexcept {
    return sqlite3_last_insert_rowid(handle_.get());
  }

  /// Whether the file that is open is no longer the one of its name.
  [[nodiscard]] bool has_moved() noexcept;

  /// Whether the file says that it has a write-ahead log. To be asked before any statement, since one
  /// would open that log.
  [[nodiscard]] bool keeps_a_log() noexcept;

  /// How many rows the last statement changed.
  [[nodiscard]] std::int64_t changes() const noexcept { return sqlite3_changes64(handle_.get()); }

  /// errno of the last failed call of the system.
  [[nodiscard]] int system_error() const noexcept { return sqlite3_system_errno(handle_.get()); }

  /// SQLite's extended code of the last failure.
  [[nodiscard]] int last_code() const noexcept { return sqlite3_extended_errcode(handle_.get()); }

  /// The last failure as an error value: what was being done, to which file, SQLite's words.
  [[nodiscard]] tl::unexpected<Error> failure(std::string_view doing) const;

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* handle) const noexcept;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const noexcept;
  };

  [[nodiscard]] static Result<Connection> open(const char* file, const std::filesystem::path& name,
                                               int flags, const char* vfs);

  /// Null when it does not compile, which last_code() then tells.
  [[nodiscard]] sqlite3_stmt* prepared(std::string_view sql);

  std::string name_;  ///< For people.
  std::unique_ptr<sqlite3, Close> handle_;
  std::unordered_map<std::string_view, std::unique_ptr<sqlite3_stmt, Finalize>> statements_;
};

/// One use of a prepared statement: bind, step, read; reset and free for the next use at its end.
/// What is bound is borrowed, and what is read is valid until the next step.
class Statement {
 public:
  /// REQUIRES: `sql` has static lifetime, and no other Statement of the same text is alive.
  Statement(Connection& connection, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind_blob(int index, std::string_view value) noexcept;
  Statement& bind_text(int index, std::string_view value) noexcept;
  Statement& bind_integer(int index, std::int64_t value) noexcept;

  /// SQLITE_ROW, SQLITE_DONE or what went wrong, if only while preparing or binding.
  [[nodiscard]] int step() noexcept;

  /// step() for a statement that gives no row.
  [[nodiscard]] bool run() noexcept { return step() == SQLITE_DONE; }

  /// A column of the current row; nothing or empty where it is of another type.
  [[nodiscard]] std::string_view blob(int column) noexcept;
  [[nodiscard]] std::string_view text(int column) noexcept;
  [[nodiscard]] std::optional<Digest> digest(int column) noexcept;
  [[nodiscard]] std::int64_t integer(int column) noexcept;
  [[nodiscard]] bool is_null(int column) noexcept;

 private:
  const system::NoFork no_fork_;  ///< First, so that it is there when the statement is prepared.
  sqlite3_stmt* handle_;
  int code_ = SQLITE_OK;
};

/// A read transaction: all that is read while it lives is of one moment, under one lock.
class Snapshot {
 public:
  explicit Snapshot(Connection& connection) noexcept;
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  explicit operator bool() const noexcept { return open_; }

 private:
  Connection& connection_;
  const bool open_;
};

/// A write transaction. Rolls back unless it was committed.
class Transaction {
 public:
  explicit Transaction(Connection& connection) noexcept : connection_(connection) {}
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  /// Takes the write lock at once: a read that becomes a write later could not.
  [[nodiscard]] bool begin() noexcept;
  [[nodiscard]] bool commit() noexcept;

 private:
  Connection& connection_;
  bool open_ = false;
};

}  // namespace kiln::storage
