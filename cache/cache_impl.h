#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>

#include "file/session.h"
#include "file/sqlite.h"
#include "file/strangers_file.h"
#include "kiln/cache.h"
#include "rows/tally.h"
#include "system/no_fork.h"

namespace kiln {

/// How the work in a transaction ended.
enum class Step {
  commit,
  roll_back,  ///< Nothing is to be written, for a reason that the work knows.
  failed,     ///< SQLite refused something.
};
inline Step commit_if(bool succeeded) noexcept { return succeeded ? Step::commit : Step::failed; }

/// What a Cache hides: the parts that its verbs share, around one connection behind one mutex, for this process.
/// cache.cpp implements them. Each verb is a function of Cache in the file of its stage: cache_find.cpp looks up,
/// cache_put.cpp writes, cache_collect.cpp removes, cache_history.cpp counts; cache_inspect.cpp, cache_alike.cpp and cache_verify.cpp show;
/// cache_bundle.cpp ships.
class Cache::Impl {
 public:
  Impl(storage::Place place, CacheOptions options, storage::Database database);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// A listing reads so many rows at a time, because a reader keeps writers from committing.
  static constexpr int rows_in_a_step = 500;

  /// The session, locked for this thread.
  class Hold {
   public:
    explicit Hold(Impl& impl);
    /// Whether a database is open. Of one that others may write, this is one read: StrangersRead.
    explicit operator bool() const noexcept { return session_.database.has_value(); }
    [[nodiscard]] storage::Session& session() noexcept { return session_; }
    [[nodiscard]] storage::Database& database() noexcept { return *session_.database; }
    [[nodiscard]] storage::Connection& connection() noexcept { return database().connection; }

    /// Counts what SQLite has just refused, and gives it as an error; not_open() where no database is open.
    tl::unexpected<Error> failure(std::string_view doing);

    /// This read has led to nothing that anybody signed. Where such reads are slow, and many, the file is given up.
    void found_unproven();

   private:
    void begin_strangers_read();

    const system::NoFork no_fork_;
    Impl& impl_;
    storage::Session& session_;
    std::unique_lock<std::mutex> lock_;
    std::optional<storage::StrangersRead> strangers_read_;
  };

  /// Opens the database where it is not open, and holds the session either way.
  Hold open() {
    static_cast<void>(ensure_open());
    return Hold(*this);
  }

  using Work = std::function<Step(Hold&)>;
  using AfterCommit = std::function<void(Hold&)>;

  /// Runs `work` in a transaction under the writers' lock. It takes the lock file before the mutex, so that no hit
  /// waits for another process. `after` runs once the transaction is committed, before another thread has the session.
  Outcome write(std::string_view doing, std::chrono::milliseconds patience, const Work& work,
                const AfterCommit& after = {});

  /// The same for work that frees room, which has to be possible where there is none: on a full disk that overwrites in place it
  /// is done once more, with its journal in memory. REQUIRES: `work` may be begun again.
  Outcome write_to_free_room(std::string_view doing, const Work& work);

  [[nodiscard]] bool read_only() const noexcept;
  [[nodiscard]] bool is_bundle() const noexcept;
  [[nodiscard]] Origin own_origin() const noexcept;
  /// Whether others may have written what is here, so that it serves only where a trusted key has signed it. Ask it of what was
  /// read, and not before: another file may be open by then.
  [[nodiscard]] bool asks_for_proof() const noexcept { return asks_for_proof_; }
  /// The keys of which one must have; none where nobody asks.
  [[nodiscard]] TrustedKeys keys_asked_for() const {
    return asks_for_proof() ? options.trusted_keys : TrustedKeys();
  }
  /// Says once that something here is not served for want of a signature.
  void tell_untrusted(std::string_view program);
  /// The path of the database file in use; empty for a bundle in memory.
  [[nodiscard]] std::filesystem::path file();

  // Which file is open. None of these may be called with a Hold or the writers' lock in hand.

  /// Opens the database where it is not open; tries at most once a second. False where it cannot.
  bool ensure_open();
  /// Looks whether the name still stands for the open file, and opens what has taken its place. True
  /// where it has opened something else.
  bool look_again();
  /// Begins a new generation where somebody found the file corrupt. True where another one is open now.
  bool leave_corrupt_file();

  tl::unexpected<Error> count_failure(Counter kind, Error error);
  tl::unexpected<Error> not_open() const;

  /// A forgotten key is one that this object does not serve.
  void set_forgotten(const Digest& key, bool forgotten);
  [[nodiscard]] bool is_forgotten(const Digest& key);

  const storage::Place place;
  const CacheOptions options;
  storage::Tally tally;

 private:
  enum class Journal { on_disk, in_memory_where_full };
  Outcome write(std::string_view doing, std::chrono::milliseconds patience, const Work& work,
                const AfterCommit& after, Journal journal);

  storage::Session& session();
  /// Nothing where it is not, and may be tried.
  std::optional<bool> is_open();
  bool open_again(Result<storage::Database> opened);
  void adopt(storage::Database database);
  /// Counts why the database is not open, and lets nobody try again at once. REQUIRES: the session's mutex is held.
  void put_off(storage::Session& session, Error error);

  /// Writes down use marks and counters where that is due; see use_marks.h and history.h.
  void flush() noexcept;
  /// Writes down what was counted beside the database, where the options say so; see tally_file.h.
  void tell_hits(const CacheCounters& counted) noexcept;

  storage::Faults faults_;
  std::atomic<storage::Session*> session_;
  /// Set by the first opening of what others may have written, and kept.
  std::atomic<bool> asks_for_proof_ = false;
  /// Until then writers only try the lock, since somebody holds it for longer than a write takes.
  std::atomic<std::chrono::steady_clock::rep> only_try_until_ = 0;

  std::mutex forgotten_mutex_;
  std::set<Digest> forgotten_;
};

using Hold = Cache::Impl::Hold;

/// That no entry has this key.
tl::unexpected<Error> no_entry(const Digest& key);

}  // namespace kiln
