#include <chrono>
#include <new>
#include <set>
#include <utility>

#include "cache_impl.h"
#include "file/file_lock.h"
#include "file/wall_clock.h"
#include "kiln/caller_state.h"
#include "rows/history.h"
#include "rows/tally_file.h"
#include "rows/use_marks.h"

namespace kiln {

namespace {

constexpr std::int64_t a_day = 86'400;

/// Many tools at once, as in a build, write one after the other; each takes a tenth of a millisecond. A put of an engine
/// that takes longer is not waited for.
constexpr std::chrono::milliseconds patience_of_a_tool{50};

storage::Trust trust_in(const Cache::Impl& cache) { return {.cache = cache.options.trust}; }

/// What tools told in their file; nothing where that cannot be read.
std::vector<DayCounters> told_by_tools(const Cache::Impl& cache) {
  if (cache.is_bundle()) return {};
  return storage::read_tally_file(cache.place.path, trust_in(cache))
      .value_or(std::vector<DayCounters>());
}

}  // namespace

/// Runs at the end and not with a hit, and only tries the lock. It writes where this process counted anything but
/// hits, where a mark is so old that eviction may come near, or once a day.
void Cache::Impl::flush() noexcept {
  if (read_only()) return;
  std::set<std::int64_t> used;
  CacheCounters all;
  bool due = false;
  {
    Hold hold(*this);
    if (!hold) return;
    all = storage::difference(tally.now(), hold.session().told);
    auto news = all;
    for (const Counter hits : {Counter::hits_memory, Counter::hits_local, Counter::hits_bundle,
                               Counter::hits_remote, Counter::saved_us}) {
      news.values[static_cast<std::size_t>(hits)] = 0;
    }
    used = storage::aged(hold.connection(), hold.session().used,
                         storage::age_to_mark(options.max_bytes));
    const auto age = storage::seconds_since_1970() - storage::history_time(hold.connection());
    // Where somebody set the clock back, this writes the time anew.
    const bool another_day = all != CacheCounters() && (age > a_day || age < 0);
    due = news != CacheCounters() || !used.empty() || another_day;
  }
  if (!due) return tell_hits(all);
  static_cast<void>(
      write("writing down what was used", std::chrono::milliseconds::zero(), [&](Hold& hold) {
        return commit_if(storage::mark_used(hold.connection(), used) &&
                         storage::add_to_history(hold.connection(), all));
      }));
}

// Best effort, as the rest of the history: where it cannot be written, these hits stay untold.
void Cache::Impl::tell_hits(const CacheCounters& counted) noexcept try {
  if (!options.tells_hits || counted == CacheCounters()) return;
  const auto lock = storage::FileLock::acquire(place.path / storage::lock_name, patience_of_a_tool,
                                               trust_in(*this));
  if (lock) static_cast<void>(storage::add_to_tally_file(place.path, trust_in(*this), counted));
} catch (const std::bad_alloc&) {
  // It ends, and nobody is to hear of it.
}

Result<CacheCounters> Cache::history() {
  const CallerState caller;
  Hold hold = impl_->open();
  const auto told = hold ? storage::read_history(hold.connection()) : std::nullopt;
  if (!told) return hold.failure("reading the history");
  auto sum = *told;
  for (const auto& day : told_by_tools(*impl_)) storage::add(sum, day.counters);
  return sum;
}

Result<std::vector<DayCounters>> Cache::history_by_day() {
  const CallerState caller;
  Hold hold = impl_->open();
  auto days = hold ? storage::read_days(hold.connection()) : std::nullopt;
  if (!days) return hold.failure("reading the history");
  for (const auto& [day, counters] : told_by_tools(*impl_)) {
    if (day != storage::older_days) storage::add_to_day(*days, day, counters);
  }
  return std::move(*days);
}

Outcome Cache::reset_history() {
  const CallerState caller;
  Outcome removed;
  const auto written =
      impl_->write("resetting the history", storage::writer_patience, [&](Hold& hold) {
        removed = storage::remove_tally_file(impl_->place.path);
        return removed ? commit_if(storage::clear_history(hold.connection())) : Step::roll_back;
      });
  return written ? removed : written;
}

}  // namespace kiln
