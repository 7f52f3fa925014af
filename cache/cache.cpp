#include "kiln/cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include <fmt/format.h>

#include "cache_impl.h"
#include "file/file_lock.h"
#include "file/file_system.h"
#include "file/private_path.h"
#include "file/schema.h"
#include "kiln/caller_state.h"
#include "system/process_id.h"

namespace kiln {

using storage::Database;
using storage::Place;
using storage::Session;

Cache::Impl::Impl(Place place_of, CacheOptions options_of, Database database)
    : place(std::move(place_of)),
      options(std::move(options_of)),
      faults_(options.on_fault),
      session_(new Session(system::process_id())) {
  adopt(std::move(database));
}

Cache::Impl::~Impl() {
  Session* session = session_;
  if (session->process != system::process_id()) {
    storage::abandon(session);
  } else {
    flush();
    delete session;
  }
}

Session& Cache::Impl::session() {
  const int process = system::process_id();
  Session* session = session_;
  while (session->process != process) {
    auto fresh = std::make_unique<Session>(process);
    fresh->told = tally.now();  // The parent writes down what it counted.
    fresh->given_up = session->given_up;
    if (session_.compare_exchange_strong(session, fresh.get())) {
      storage::abandon(session);
      session = fresh.release();
    }
  }
  return *session;
}

std::optional<bool> Cache::Impl::is_open() {
  const system::NoFork no_fork;
  Session& session = this->session();
  const std::lock_guard guard(session.mutex);
  if (session.given_up) return false;
  if (session.database) return true;
  const bool may_be_tried = std::chrono::steady_clock::now() >= session.not_before;
  return may_be_tried ? std::nullopt : std::optional(false);
}

bool Cache::Impl::ensure_open() {
  if (const auto open = is_open()) return *open;
  // One thread opens the database; the others wait until it is done.
  const std::lock_guard opening(session().opening);
  if (const auto open = is_open()) return *open;
  return open_again(storage::open_place(place, options));
}

bool Cache::Impl::look_again() {
  if (is_bundle()) return false;
  {
    Hold hold(*this);
    if (!hold || !storage::is_superseded(hold.database())) return false;
  }
  // Where that fails, the open file still serves, whatever became of its name.
  if (!open_again(storage::open_place(place, options))) return false;
  tally.add(Counter::reopened);
  return true;
}

bool Cache::Impl::leave_corrupt_file() {
  std::filesystem::path directory;
  unsigned corrupt = 0;
  bool superseded = false;
  {
    Hold hold(*this);
    corrupt = std::exchange(hold.session().corrupt_generation, 0);
    if (corrupt == 0 || read_only() || !hold) return false;
    if (hold.database().generation != corrupt) return true;
    // The name may stand for another file by now, which may well be sound.
    superseded = storage::is_superseded(hold.database());
    directory = hold.database().file.parent_path();
  }
  return superseded ? look_again()
                    : open_again(storage::open_generation_after(directory, corrupt, options));
}

bool Cache::Impl::open_again(Result<Database> opened) {
  if (opened) {
    adopt(std::move(*opened));
    return true;
  }
  const system::NoFork no_fork;
  Session& session = this->session();
  const std::lock_guard guard(session.mutex);
  put_off(session, std::move(opened.error()));
  return false;
}

void Cache::Impl::put_off(Session& session, Error error) {
  const Counter kind = storage::counter_of_failure(error.vendor_code, 0);
  session.given_up |= error.vendor_code == SQLITE_INTERRUPT;
  session.not_before = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  static_cast<void>(count_failure(kind, std::move(error)));
}

void Cache::Impl::adopt(Database database) {
  if (!database.set_aside.empty()) {
    tally.add(Counter::generations);
    faults_.tell(Counter::generations, database.set_aside);
  }
  const system::NoFork no_fork;
  Session& session = this->session();
  const std::lock_guard guard(session.mutex);
  if (database.checked_schema) asks_for_proof_ = true;
  session.used.clear();
  session.corrupt_generation = 0;
  session.database.emplace(std::move(database));
}

bool Cache::Impl::is_bundle() const noexcept { return place.kind != Place::Kind::directory; }

bool Cache::Impl::read_only() const noexcept {
  return is_bundle() || options.access == CacheOptions::Access::read_only || asks_for_proof_;
}

Origin Cache::Impl::own_origin() const noexcept {
  return is_bundle() ? Origin::bundle : Origin::local;
}

void Cache::Impl::tell_untrusted(std::string_view program) {
  faults_.tell(Counter::misses_untrusted,
               fmt::format("'{}' in '{}' is not served, as other entries there may not be: no "
                           "trusted key has signed it "
                           "(KILN_TRUSTED_KEYS)",
                           program, place.path.string()));
}

std::filesystem::path Cache::Impl::file() {
  Hold hold = open();
  return hold ? hold.database().file : place.path;
}

Cache::Impl::Hold::Hold(Impl& impl) : impl_(impl), session_(impl.session()), lock_(session_.mutex) {
  if (session_.given_up) session_.database.reset();
  if (session_.database && session_.database->checked_schema) begin_strangers_read();
}

void Cache::Impl::Hold::begin_strangers_read() {
  strangers_read_.emplace(database());
  auto begun = strangers_read_->begin();
  if (begun) return;
  strangers_read_.reset();
  session_.database.reset();
  impl_.put_off(session_, std::move(begun.error()));
}

void Cache::Impl::Hold::found_unproven() {
  constexpr std::chrono::milliseconds slow{10};
  constexpr std::chrono::seconds most{2};
  if (!strangers_read_) return;
  const auto taken = connection().time_taken();
  if (taken > slow) session_.unproven += taken;
  session_.given_up |= session_.unproven > most;
}

tl::unexpected<Error> Cache::Impl::Hold::failure(std::string_view doing) {
  if (!*this) return impl_.not_open();
  const int code = connection().last_code();
  const Counter kind = storage::counter_of_failure(code, connection().system_error());
  if (storage::is_corrupt(code)) session_.corrupt_generation = database().generation;
  if (code == SQLITE_INTERRUPT) session_.given_up = true;
  return impl_.count_failure(kind, connection().failure(doing).value());
}

tl::unexpected<Error> Cache::Impl::count_failure(Counter kind, Error error) {
  tally.add(kind);
  faults_.tell(kind, error.message);
  return tl::unexpected(std::move(error));
}

tl::unexpected<Error> Cache::Impl::not_open() const {
  return fail(ErrorCode::cache_unusable,
              fmt::format("cache '{}' cannot be opened any more", place.path.string()));
}

namespace {

/// Whether the work was done, or was not to be. Else SQLite's last failure is why, as long as the transaction lives.
bool carry_out(storage::Transaction& transaction, Hold& hold, const Cache::Impl::Work& work,
               const Cache::Impl::AfterCommit& after) {
  if (!transaction.begin()) return false;
  const Step step = work(hold);
  if (step == Step::roll_back) return true;
  if (step == Step::failed || !transaction.commit()) return false;
  if (after) after(hold);
  return true;
}

bool found_no_room(storage::Connection& connection) {
  return storage::counter_of_failure(connection.last_code(), connection.system_error()) ==
         Counter::errors_full;
}

}  // namespace

Outcome Cache::Impl::write(std::string_view doing, std::chrono::milliseconds patience,
                           const Work& work, const AfterCommit& after) {
  return write(doing, patience, work, after, Journal::on_disk);
}

Outcome Cache::Impl::write_to_free_room(std::string_view doing, const Work& work) {
  return write(doing, storage::writer_patience, work, {}, Journal::in_memory_where_full);
}

Outcome Cache::Impl::write(std::string_view doing, std::chrono::milliseconds patience,
                           const Work& work, const AfterCommit& after, Journal journal) {
  if (read_only()) {
    return fail(
        ErrorCode::cache_unusable,
        fmt::format("cache '{}' is read-only here; nothing is written", place.path.string()));
  }
  if (!ensure_open()) return not_open();
  const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch().count(); };
  const bool hopeless = now() < only_try_until_;
  const auto lock = storage::FileLock::acquire(
      place.path / storage::lock_name, hopeless ? std::chrono::milliseconds::zero() : patience,
      {.cache = options.trust});
  if (!lock) {
    const bool held = lock.error().code == ErrorCode::io_failed;
    // A write that only tries the lock can wait for another time.
    if (held && patience == std::chrono::milliseconds::zero()) return tl::unexpected(lock.error());
    // A holder that is stopped must not cost every put the whole patience.
    if (held && !hopeless) {
      only_try_until_ = now() + std::chrono::nanoseconds(storage::lock_despair).count();
    }
    return count_failure(held ? Counter::errors_locked : Counter::errors_denied, lock.error());
  }
  Hold hold(*this);
  if (!hold) return not_open();
  {
    storage::Transaction transaction(hold.connection());
    if (carry_out(transaction, hold, work, after)) return {};
    // Else a write that finds no room could not be taken back either.
    if (journal == Journal::on_disk || !found_no_room(hold.connection()) ||
        !storage::file_system_of(place.path).overwrites_in_place)
      return hold.failure(doing);
  }
  const storage::JournalInMemory in_memory(hold.connection());
  storage::Transaction transaction(hold.connection());
  if (carry_out(transaction, hold, work, after)) return {};
  return hold.failure(doing);
}

void Cache::Impl::set_forgotten(const Digest& key, bool forgotten) {
  const system::NoFork no_fork;
  const std::lock_guard guard(forgotten_mutex_);
  if (forgotten) {
    forgotten_.insert(key);
  } else {
    forgotten_.erase(key);
  }
}

bool Cache::Impl::is_forgotten(const Digest& key) {
  const system::NoFork no_fork;
  const std::lock_guard guard(forgotten_mutex_);
  return forgotten_.contains(key);
}

namespace {

// All users make theirs beside each other, so that somebody may have been there first.
Result<bool> own_folder(const std::filesystem::path& folder, const CacheOptions& options) {
  const storage::Trust trust{.cache = options.trust};
  if (options.access == CacheOptions::Access::read_write) {
    if (auto made = storage::make_private_directory(folder, trust); !made)
      return tl::unexpected(std::move(made.error()));
  }
  return storage::private_directory_exists(folder, trust);
}

}  // namespace

Cache::Cache(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Cache::Cache(Cache&&) noexcept = default;
Cache& Cache::operator=(Cache&&) noexcept = default;
Cache::~Cache() {
  const CallerState caller;
  impl_.reset();
}

Result<Cache> Cache::open_place(storage::Place place, CacheOptions options) {
  const CallerState caller;
  // The whole cache is worth this wait. When the file is opened again later, nobody waits so long.
  const storage::LockPatience patience(storage::writer_patience);
  auto database = storage::open_place(place, options);
  if (!database) return tl::unexpected(database.error());
  return Cache(std::make_unique<Impl>(std::move(place), std::move(options), std::move(*database)));
}

Result<Cache> Cache::open(const std::filesystem::path& directory, CacheOptions options) {
  const CallerState caller;
  auto [place, file_system, why_elsewhere] = place_of_cache(directory, options.trust);
  if (!why_elsewhere.empty()) {
    if (place.empty()) return fail(ErrorCode::cache_unusable, std::move(why_elsewhere));
    if (options.on_fault) options.on_fault(why_elsewhere);
    options.trust = {.group = options.trust.group};
    if (auto own = own_folder(place.parent_path(), options); !own)
      return tl::unexpected(std::move(own.error()));
  }
  if (storage::is_of_another(place, options.trust))
    options.access = CacheOptions::Access::read_only;
  auto opened = open_place({Place::Kind::directory, std::move(place)}, std::move(options));
  if (!opened && !why_elsewhere.empty()) opened.error().message += "; " + why_elsewhere;
  return opened;
}

Result<Cache> Cache::open_bundle(const std::filesystem::path& file, CacheOptions options) {
  return open_place({Place::Kind::bundle_file, file}, std::move(options));
}

Result<Cache> Cache::open_bundle(std::span<const std::byte> bundle, CacheOptions options) {
  return open_place({Place::Kind::bundle_bytes, {}, bundle}, std::move(options));
}

bool Cache::writable() const noexcept { return !impl_->read_only(); }

std::filesystem::path Cache::file() const {
  const CallerState caller;
  return impl_->file();
}

CacheCounters Cache::counters() const noexcept { return impl_->tally.now(); }

}  // namespace kiln
