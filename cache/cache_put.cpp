#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "cache_impl.h"
#include "cache_store.h"
#include "kiln/caller_state.h"
#include "rows/entry_remover.h"
#include "rows/entry_writer.h"
#include "rows/history.h"
#include "rows/use_marks.h"

namespace kiln {

using storage::Connection;
using storage::PreparedEntry;

namespace {

/// A put evicts at most so many entries: its transaction and its journal stay small.
constexpr int most_evictions = 256;

/// A put gives free pages back, a few at a time, once they are more than this part of the file.
constexpr std::uint64_t part_of_file_to_keep_free = 4;
constexpr int pages_to_give_back = 64;

/// The texts that are not stored, as `is_stored` tells: has_text() or has_sound_text(). Nothing where SQLite could not
/// tell.
template <class IsStored>
std::optional<std::vector<Text>> not_stored(Connection& connection, const std::vector<Text>& texts,
                                            const IsStored& is_stored) {
  std::vector<Text> missing;
  for (const Text& text : texts) {
    const auto stored = is_stored(connection, text.digest);
    if (!stored) return std::nullopt;
    if (!*stored) missing.push_back(text);
  }
  return missing;
}

/// Whether all texts are stored; nothing where SQLite could not tell.
std::optional<bool> has_all(Connection& connection, const std::vector<Digest>& texts) {
  for (const Digest& text : texts) {
    const auto stored = storage::has_text(connection, text);
    if (!stored.value_or(false)) return stored;
  }
  return true;
}

/// Writes the texts that somebody has evicted since put() prepared the others. It does not check the rest again: put()
/// has found them sound, and other writers should not wait for that.
bool write_lost_texts(Connection& connection, storage::EntryWriter& writer,
                      const std::vector<Text>& texts) {
  const auto lost = not_stored(connection, texts, storage::has_text);
  if (!lost || lost->empty()) return lost.has_value();
  const auto prepared = storage::prepare_texts(*lost);
  return prepared && writer.write_texts(*prepared);
}

/// Evicts entries until the pages in use fit the cap, but never `newcomer`. Gives how many it evicted; nothing where
/// SQLite refused something. `fits` tells whether that was enough.
std::optional<std::uint64_t> make_room(Connection& connection, std::uint64_t cap,
                                       std::int64_t newcomer, bool& fits) {
  std::uint64_t evicted = 0;
  for (bool all_marked = false;;) {
    const auto used = storage::used_bytes(connection);
    if (!used) return std::nullopt;
    fits = *used <= cap || evicted == most_evictions;
    if (fits) return evicted;
    if (const auto victim = storage::least_recently_used(connection, newcomer)) {
      if (!storage::remove_entry(connection, *victim)) return std::nullopt;
      ++evicted;
    } else if (all_marked) {
      return evicted;
    } else {
      // A lost mark must not keep its entry for ever.
      if (!storage::mark_unmarked(connection)) return std::nullopt;
      all_marked = true;
    }
  }
}

bool give_back_surplus(Connection& connection) {
  const auto pages = connection.integer("PRAGMA page_count");
  const auto unused = connection.integer("PRAGMA freelist_count");
  if (!pages || !unused) return false;
  const auto kept = static_cast<std::uint64_t>(*pages) / part_of_file_to_keep_free;
  return static_cast<std::uint64_t>(*unused) <= kept + pages_to_give_back ||
         storage::shrink(connection, pages_to_give_back);
}

/// The time that it takes to compile these entries again.
std::chrono::microseconds compile_time_of(std::span<const PreparedEntry> entries) {
  // More than a write ever waits for.
  constexpr std::uint64_t an_hour_us = 3'600'000'000;
  std::uint64_t time = 0;
  for (const PreparedEntry& entry : entries) time += std::min(entry.compile_us, an_hour_us);
  return std::chrono::microseconds(time);
}

/// Adds to the history what this transaction did and what this process counted before it.
bool tell(Cache::Impl& cache, Hold& hold, std::uint64_t stored, std::uint64_t evicted,
          CacheCounters& counted) {
  counted = cache.tally.now();
  counted.values[static_cast<std::size_t>(Counter::stores)] += stored;
  counted.values[static_cast<std::size_t>(Counter::evictions)] += evicted;
  return storage::add_to_history(hold.connection(),
                                 storage::difference(counted, hold.session().told));
}

tl::unexpected<Error> too_large(Cache::Impl& cache, const PreparedEntry& entry) {
  cache.tally.add(Counter::too_large);
  return fail(ErrorCode::too_large,
              fmt::format("'{}' for {} takes {} bytes, which the cache's size cap of {} bytes "
                          "leaves no room for beside the file's own pages and what is pinned; "
                          "raise the cap, or unpin entries",
                          entry.program, entry.arch, entry.bytes(), cache.options.max_bytes));
}

/// Runs while the thread holds the session, or another thread's put would tell the same numbers again.
void remember_stored(Cache::Impl& cache, Hold& hold, std::uint64_t stored, std::uint64_t evicted,
                     const CacheCounters& counted) {
  cache.tally.add(Counter::stores, stored);
  cache.tally.add(Counter::evictions, evicted);
  hold.session().used.clear();
  hold.session().told = counted;
}

}  // namespace

Result<std::uint64_t> store(Cache::Impl& cache, std::span<const PreparedEntry> entries,
                            IfPresent if_present, const std::vector<Text>& originals) {
  for (const PreparedEntry& entry : entries) {
    if (entry.bytes() > cache.options.max_bytes) return too_large(cache, entry);
  }
  bool fits = true;
  bool all_there = true;
  std::uint64_t stored = 0;
  std::uint64_t evicted = 0;
  CacheCounters counted;
  const auto put_all = [&](Hold& hold) {
    Connection& connection = hold.connection();
    storage::EntryWriter writer(connection);
    std::int64_t newest = 0;
    for (const PreparedEntry& entry : entries) {
      if (if_present == IfPresent::keep && storage::entry_id(connection, entry.key)) continue;
      const auto there = has_all(connection, entry.relied_on);
      if (!there) return Step::failed;
      all_there = *there;
      if (!all_there) return Step::roll_back;
      if (!writer.write_texts(entry.texts) || !write_lost_texts(connection, writer, originals)) {
        return Step::failed;
      }
      const auto id = writer.write(entry);
      if (!id || !storage::mark_stored(connection, *id, entry.bytes())) return Step::failed;
      newest = *id;
      ++stored;
    }
    if (stored == 0) return Step::roll_back;
    // Before the eviction, so that it does not choose what this process uses.
    const auto used = storage::aged(connection, hold.session().used,
                                    storage::age_to_mark(cache.options.max_bytes));
    if (!storage::mark_used(connection, used)) return Step::failed;
    const auto gone = make_room(connection, cache.options.max_bytes, newest, fits);
    if (!gone) return Step::failed;
    if (!fits) return Step::roll_back;
    evicted = *gone;
    return commit_if(tell(cache, hold, stored, evicted, counted) && give_back_surplus(connection));
  };
  const storage::LockPatience patience(storage::put_patience(compile_time_of(entries)));
  const auto written =
      cache.write("storing an entry", storage::writer_patience, put_all,
                  [&](Hold& hold) { remember_stored(cache, hold, stored, evicted, counted); });
  if (!written) return tl::unexpected(written.error());
  if (!all_there) return fail(ErrorCode::not_found, "a text that was in the cache is gone");
  if (!fits) return too_large(cache, entries.back());
  for (const PreparedEntry& entry : entries) cache.set_forgotten(entry.key, false);
  return stored;
}

Outcome Cache::put(const NewEntry& entry) {
  const CallerState caller;
  if (!impl_->ensure_open()) return impl_->not_open();
  static_cast<void>(impl_->look_again());
  Outcome stored;
  // The second attempt writes to the generation that has taken a corrupt file's place.
  for (int attempt = 0; attempt < 2; ++attempt) {
    std::optional<std::vector<Text>> texts;
    {
      Hold hold(*impl_);
      if (!hold) return impl_->not_open();
      const storage::Snapshot one_lock_for_all(hold.connection());
      texts = not_stored(hold.connection(), entry.texts, storage::has_sound_text);
      if (!texts) static_cast<void>(hold.failure("looking for a text"));
    }
    const auto prepared = storage::prepare(
        entry, texts ? *texts : entry.texts,
        impl_->options.plain_images ? storage::Images::plain : storage::Images::compressed,
        impl_->options.signing_key);
    if (!prepared) return tl::unexpected(prepared.error());
    const auto added = store(*impl_, {&*prepared, 1}, IfPresent::replace, entry.texts);
    if (added) return {};
    stored = tl::unexpected(added.error());
    if (!impl_->leave_corrupt_file()) break;
  }
  return stored;
}

}  // namespace kiln
