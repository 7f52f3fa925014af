#include "kiln/cache.h"

#include <utility>

#include <fmt/format.h>

#include "cache_impl.h"
#include "file/fork_guard.h"
#include "file/schema.h"
#include "kiln/caller_state.h"

namespace kiln {

using storage::Database;
using storage::Place;
using storage::Session;

Cache::Impl::Impl(Place place, CacheOptions options, Database database)
    : place_(std::move(place)),
      options_(std::move(options)),
      faults_(options_.on_fault),
      session_(new Session(storage::process_id())) {
  adopt(std::move(database));
}

Cache::Impl::~Impl() {
  Session* session = session_;
  if (session->process != storage::process_id()) {
    storage::abandon(session);
  } else {
    flush();
    delete session;
  }
}

Session& Cache::Impl::session() {
  const int process = storage::process_id();
  Session* session = session_;
  while (session->process != process) {
    auto fresh = std::make_unique<Session>(process);
    fresh->told = tally_.now();  // The parent tells what it did itself.
    if (session_.compare_exchange_strong(session, fresh.get())) {
      storage::abandon(session);
      session = fresh.release();
    }
  }
  return *session;
}

bool Cache::Impl::ensure_open() {
  if (Hold(*this)) return true;
  // One thread opens; the others wait for what it comes to.
  const std::lock_guard opening(session().opening);
  {
    Hold hold(*this);
    if (hold) return true;
    if (std::chrono::steady_clock::now() < hold.session().not_before) return false;
  }
  auto opened = storage::open_place(place_, options_);
  if (!opened) {
    Hold(*this).session().not_before = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    count_not_opened(std::move(opened.error()));
    return false;
  }
  adopt(std::move(*opened));
  return true;
}

bool Cache::Impl::look_again() {
  if (place_.kind != Place::Kind::directory) return false;
  {
    Hold hold(*this);
    if (!hold || !storage::is_superseded(hold.database())) return false;
  }
  auto opened = storage::open_place(place_, options_);
  if (!opened) {
    // What is open still serves, whatever became of its name.
    count_not_opened(std::move(opened.error()));
    return false;
  }
  tally_.add(Counter::reopened);
  adopt(std::move(*opened));
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
    // The file of that name is another one by now, and may well be sound.
    superseded = storage::is_superseded(hold.database());
    directory = hold.database().file.parent_path();
  }
  if (superseded) return look_again();
  auto opened = storage::open_generation_after(directory, corrupt, options_);
  if (!opened) {
    count_not_opened(std::move(opened.error()));
    return false;
  }
  adopt(std::move(*opened));
  return true;
}

void Cache::Impl::adopt(Database database) {
  if (!database.set_aside.empty()) {
    tally_.add(Counter::generations);
    faults_.tell(Counter::generations, database.set_aside);
  }
  Hold hold(*this);
  hold.session().used.clear();
  hold.session().corrupt_generation = 0;
  hold.session().database.emplace(std::move(database));
}

bool Cache::Impl::read_only() const noexcept {
  return place_.kind != Place::Kind::directory ||
         options_.access == CacheOptions::Access::read_only;
}

Origin Cache::Impl::own_origin() const noexcept {
  return place_.kind == Place::Kind::directory ? Origin::local : Origin::bundle;
}

std::filesystem::path Cache::Impl::file() {
  static_cast<void>(ensure_open());
  Hold hold(*this);
  return hold ? hold.database().file : place_.path;
}

tl::unexpected<Error> Cache::Impl::failure(Hold& hold, std::string_view doing) {
  const int code = hold.connection().last_code();
  const Counter kind = storage::counter_of_failure(code, hold.connection().system_error());
  if (storage::is_corrupt(code)) {
    hold.session().corrupt_generation = hold.database().generation;
  }
  return count_failure(kind, hold.connection().failure(doing).value());
}

tl::unexpected<Error> Cache::Impl::count_failure(Counter kind, Error error) {
  tally_.add(kind);
  faults_.tell(kind, error.message);
  return tl::unexpected(std::move(error));
}

void Cache::Impl::count_not_opened(Error error) {
  const Counter kind = storage::counter_of_failure(error.vendor_code, 0);
  static_cast<void>(count_failure(kind, std::move(error)));
}

tl::unexpected<Error> Cache::Impl::not_open() {
  return fail(ErrorCode::cache_unusable,
              fmt::format("cache '{}' cannot be opened any more", place_.path.string()));
}

void Cache::Impl::count_hit(Origin origin, std::uint64_t compile_us) noexcept {
  // The column is not protected: a damaged one must not make nonsense of the sum.
  constexpr std::uint64_t a_day = 86'400'000'000;
  const Counter counter = origin == Origin::memory  ? Counter::hits_memory
                          : origin == Origin::local ? Counter::hits_local
                                                    : Counter::hits_bundle;
  tally_.add(counter);
  if (compile_us <= a_day) tally_.add(Counter::saved_us, compile_us);
}

Cache::Cache(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Cache::Cache(Cache&&) noexcept = default;
Cache& Cache::operator=(Cache&&) noexcept = default;
Cache::~Cache() {
  const CallerState caller;
  impl_.reset();
}

Result<Cache> Cache::open_place(storage::Place place, CacheOptions options) {
  const CallerState caller;
  // All that is stored there is worth waiting for; what is opened again later is not waited for so long.
  const storage::LockPatience patience(storage::writer_patience);
  auto database = storage::open_place(place, options);
  if (!database) return tl::unexpected(database.error());
  return Cache(std::make_unique<Impl>(std::move(place), std::move(options), std::move(*database)));
}

Result<Cache> Cache::open(const std::filesystem::path& directory, CacheOptions options) {
  return open_place({Place::Kind::directory, directory, {}}, std::move(options));
}

Result<Cache> Cache::open_bundle(const std::filesystem::path& file, CacheOptions options) {
  return open_place({Place::Kind::bundle_file, file, {}}, std::move(options));
}

Result<Cache> Cache::open_bundle(std::span<const std::byte> bundle, CacheOptions options) {
  return open_place({Place::Kind::bundle_bytes, {}, bundle}, std::move(options));
}

std::filesystem::path Cache::file() const {
  const CallerState caller;
  return impl_->file();
}

std::optional<Artifact> Cache::find(const Request& request, const Digest& roots,
                                    const std::function<bool(const Candidate&)>& accept,
                                    MissReason* why_not) {
  const CallerState caller;
  return impl_->find(request, roots, accept, why_not);
}

std::optional<Artifact> Cache::peek(const Request& request, const Digest& roots,
                                    const std::function<bool(const Candidate&)>& accept,
                                    MissReason* why_not) {
  const CallerState caller;
  return impl_->peek(request, roots, accept, why_not);
}

Result<std::vector<StoredRequest>> Cache::alike(const Request& request, const AlikeLimits& limits) {
  const CallerState caller;
  return impl_->alike(request, limits);
}

Result<DependencySet> Cache::dependencies(const Digest& key) {
  const CallerState caller;
  return impl_->dependencies(key);
}

Result<void> Cache::put(const NewEntry& entry) {
  const CallerState caller;
  return impl_->put(entry);
}

void Cache::forget(const Digest& key) {
  const CallerState caller;
  impl_->forget(key);
}

void Cache::count_hit(Origin origin, std::uint64_t compile_us) noexcept {
  impl_->count_hit(origin, compile_us);
}

Turn Cache::take_turn(const Digest& what, std::chrono::milliseconds patience,
                      std::stop_token stop) {  // NOLINT(performance-unnecessary-value-param)
  return impl_->take_turn(what, patience, stop);
}

Result<std::vector<EntrySummary>> Cache::list() {
  const CallerState caller;
  return impl_->list();
}

Result<Digest> Cache::resolve(std::string_view key_prefix) {
  const CallerState caller;
  return impl_->resolve(key_prefix);
}

Result<StoredEntry> Cache::entry(const Digest& key) {
  const CallerState caller;
  return impl_->entry(key);
}

Result<std::string> Cache::text(const Digest& digest) {
  const CallerState caller;
  return impl_->text(digest);
}

Result<CacheStatistics> Cache::statistics() {
  const CallerState caller;
  return impl_->statistics();
}

CacheCounters Cache::counters() const noexcept { return impl_->counters(); }

Result<CacheCounters> Cache::history() {
  const CallerState caller;
  return impl_->history();
}

Result<void> Cache::reset_history() {
  const CallerState caller;
  return impl_->reset_history();
}

Result<void> Cache::pin(const Digest& key, bool pinned) {
  const CallerState caller;
  return impl_->pin(key, pinned);
}

Result<GcReport> Cache::collect(const GcOptions& options) {
  const CallerState caller;
  return impl_->collect(options);
}

Result<GcReport> Cache::clear() {
  const CallerState caller;
  return impl_->clear();
}

Result<VerifyReport> Cache::verify(bool deep) {
  const CallerState caller;
  return impl_->verify(deep);
}

Result<ExportReport> Cache::export_bundle(const std::filesystem::path& bundle,
                                          const ExportOptions& options) {
  const CallerState caller;
  return impl_->export_bundle(bundle, options);
}

Result<ImportReport> Cache::import(Cache& from) {
  const CallerState caller;
  return impl_->import(*from.impl_);
}

}  // namespace kiln
