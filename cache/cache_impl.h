#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "file/file_lock.h"
#include "file/session.h"
#include "file/sqlite.h"
#include "kiln/cache.h"
#include "rows/tally.h"
#include "system/no_fork.h"

namespace kiln {

namespace storage {
class BundleFile;
struct PreparedEntry;
struct PreparedText;
struct RawEntry;
}  // namespace storage

/// What a Cache hides: one connection behind one mutex, for this process. What looks up is in
/// cache_find.cpp, what writes in cache_put.cpp, what removes in cache_collect.cpp, what shows in
/// cache_inspect.cpp, cache_alike.cpp and cache_verify.cpp, what ships in cache_bundle.cpp.
class Cache::Impl {
 public:
  Impl(storage::Place place, CacheOptions options, storage::Database database);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::optional<Artifact> find(const Request& request, const Digest& roots,
                               const std::function<bool(const Candidate&)>& accept,
                               MissReason* why_not);
  std::optional<Artifact> peek(const Request& request, const Digest& roots,
                               const std::function<bool(const Candidate&)>& accept,
                               MissReason* why_not);
  Result<std::vector<StoredRequest>> alike(const Request& request, const AlikeLimits& limits);
  Result<DependencySet> dependencies(const Digest& key);
  Result<void> put(const NewEntry& entry);
  void forget(const Digest& key);
  void count_hit(Origin origin, std::uint64_t compile_us) noexcept;
  Turn take_turn(const Digest& what, std::chrono::milliseconds patience,
                 const std::stop_token& stop);

  Result<std::vector<EntrySummary>> list();
  Result<Digest> resolve(std::string_view key_prefix);
  Result<StoredEntry> entry(const Digest& key);
  Result<std::string> text(const Digest& digest);
  Result<CacheStatistics> statistics();
  Result<CacheCounters> history();
  Result<VerifyReport> verify(bool deep);

  Result<void> reset_history();
  Result<void> pin(const Digest& key, bool pinned);
  Result<GcReport> collect(const GcOptions& options);
  Result<GcReport> clear();

  Result<ExportReport> export_bundle(const std::filesystem::path& bundle,
                                     const ExportOptions& options);
  Result<ImportReport> import(Impl& from);

  std::filesystem::path file();
  CacheCounters counters() const noexcept { return tally_.now(); }

 private:
  /// The session, locked for this thread.
  class Hold {
   public:
    explicit Hold(Impl& impl) : session_(impl.session()), lock_(session_.mutex) {}
    /// Whether a database is open. ensure_open() makes it so where that can be.
    explicit operator bool() const noexcept { return session_.database.has_value(); }
    [[nodiscard]] storage::Session& session() noexcept { return session_; }
    [[nodiscard]] storage::Database& database() noexcept { return *session_.database; }
    [[nodiscard]] storage::Connection& connection() noexcept { return database().connection; }

   private:
    const system::NoFork no_fork_;
    storage::Session& session_;
    std::unique_lock<std::mutex> lock_;
  };

  /// How the work in a transaction ended.
  enum class Step {
    commit,
    roll_back,  ///< It is not to be, for a reason that the work knows.
    failed,     ///< SQLite refused something.
  };
  static Step commit_if(bool succeeded) noexcept { return succeeded ? Step::commit : Step::failed; }

  /// Runs `work(Hold&)`, which gives a Step, in a transaction under the writers' lock.
  /// The lock file comes before the mutex, so that waiting for another process keeps no hit waiting.
  /// `after(Hold&)` runs once it is committed, before anybody else has the session.
  template <class Work, class After = void (*)(Hold&)>
  Result<void> write(
      std::string_view doing, std::chrono::milliseconds patience, const Work& work,
      const After& after = [](Hold&) {});

  storage::Session& session();
  bool read_only() const noexcept;
  Origin own_origin() const noexcept;

  struct Wanted;
  std::optional<storage::RawEntry> next_row(const Wanted& wanted, std::int64_t before,
                                            MissReason& reason);
  std::optional<Artifact> try_search(const Wanted& wanted, MissReason& reason,
                                     std::vector<std::int64_t>& damaged);
  std::optional<Artifact> search(const Wanted& wanted, MissReason& reason,
                                 std::vector<std::int64_t>& damaged);
  void drop(const std::vector<std::int64_t>& damaged);
  struct AlikeSearch;
  Result<void> take_equal(AlikeSearch& search, std::string_view sql, const Digest& value);
  Result<void> take_named(AlikeSearch& search);
  Result<void> give_back();
  bool is_forgotten(const Digest& key);

  /// What to do with an entry whose key is stored already.
  enum class IfPresent { replace, keep };
  /// Stores entries in one transaction and makes room for them; gives how many were written.
  /// `originals` are texts of which some were stored already, and may have been evicted since.
  /// Errors: as put(); not_found where a text that an entry relies on has gone since, and nothing is stored.
  Result<std::uint64_t> store(std::span<const storage::PreparedEntry> entries, IfPresent if_present,
                              const std::vector<Text>& originals = {});
  bool tell(Hold& hold, std::uint64_t stored, std::uint64_t evicted, CacheCounters& counted);
  tl::unexpected<Error> too_large(const storage::PreparedEntry& entry);
  void remember_stored(Hold& hold, std::uint64_t stored, std::uint64_t evicted,
                       const CacheCounters& counted);

  // What ships: one row at a time, each in a read of its own, so that no writer waits for long.
  struct Located;
  Result<std::vector<Located>> locate_entries(std::vector<Finding>& skipped);
  Result<std::optional<storage::PreparedEntry>> lost(const Located& at,
                                                     std::vector<Finding>& skipped);
  Result<std::optional<storage::PreparedEntry>> pick_up(const Located& at,
                                                        std::vector<Finding>& skipped);
  Result<std::optional<storage::PreparedText>> pick_up_text(const Digest& digest,
                                                            std::vector<Finding>& skipped);
  static Result<std::optional<storage::PreparedText>> first_text(const std::vector<Impl*>& sources,
                                                                 const Digest& digest,
                                                                 std::vector<Finding>& skipped);
  static Result<void> write_bundle(storage::BundleFile& file, const std::vector<Located>& rows,
                                   const std::vector<Impl*>& sources, const ExportOptions& options,
                                   ExportReport& report);

  /// What an import stores in one transaction.
  struct Batch;
  Result<void> add_to(Batch& batch, const Located& row, ImportReport& report);
  Result<void> store(Batch& batch, ImportReport& report);
  Result<void> store_singly(Batch& batch, ImportReport& report);
  Result<std::uint64_t> store_whole(Batch& batch, std::span<storage::PreparedEntry> entries,
                                    ImportReport& report);
  Result<bool> has_entry(const Digest& key);
  Result<std::vector<Digest>> texts_missing(storage::PreparedEntry& entry);

  // Which file is open. None of these may be called with a Hold or the writers' lock in hand.

  /// False where the database cannot be opened; it is tried at most once a second.
  bool ensure_open();
  /// Looks whether the file is still the one of its name, and opens what has taken its place. True
  /// where something else is open now.
  bool look_again();
  /// Begins a new generation where the file was found corrupt. True where another one is open now.
  bool leave_corrupt_file();
  void adopt(storage::Database database);

  /// Counts what SQLite just refused, and gives it as an error.
  tl::unexpected<Error> failure(Hold& hold, std::string_view doing);
  tl::unexpected<Error> count_failure(Counter kind, Error error);
  void count_not_opened(Error error);
  tl::unexpected<Error> not_open();

  /// Writes down use marks and counters where that is due; see use_marks.h.
  void flush() noexcept;

  const storage::Place place_;
  const CacheOptions options_;
  storage::Tally tally_;
  storage::Faults faults_;
  std::atomic<storage::Session*> session_;
  /// Until when the writers' lock is only tried, since somebody holds it for longer than a write takes.
  std::atomic<std::chrono::steady_clock::rep> only_try_until_ = 0;

  std::mutex forgotten_mutex_;
  std::set<Digest> forgotten_;
};

}  // namespace kiln
