#include "cache_arrival.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cache_store.h"

namespace kiln {

using storage::PreparedEntry;

namespace {

/// At most so many entries are stored in a transaction, and no more once they have so many bytes.
constexpr std::size_t entries_in_a_batch = 32;
constexpr std::uint64_t bytes_in_a_batch = std::uint64_t{16} << 20;

}  // namespace

Result<bool> Arrival::is_present(const Digest& key) {
  auto present = has_entry(to_, key);
  if (present == true) ++report_.present;
  return present;
}

Outcome Arrival::take(PickedUp picked) {
  auto& entry = picked.entry;
  if (!picked.proof || has_signed_texts(picked)) {
    const auto missing = texts_missing(picked);
    if (!missing) return tl::unexpected(missing.error());
    if (picked.proof && !relies_on_signed_texts(entry)) {
      report_.skipped.push_back({"entry", entry.key.hex(),
                                 "cannot be kept here: its source or a header is another than the "
                                 "one of the same digest that is here"});
      return {};
    }
    if (picked.proof) batch_.taken = TextsTaken::as_hashed;
    auto brought =
        bring_texts(entry, *missing, batch_.texts, texts_, batch_.taken, report_.skipped);
    if (!brought) return brought;
  } else if (has_any_text(picked.contents, texts_)) {
    report_.skipped.push_back(
        {"text", entry.source.hex(),
         fmt::format("the source of entry {}, which comes without it and its headers: they are not "
                     "all there, or not as {} signed them",
                     entry.key.hex(), picked.proof->signer())});
  }
  entry.created = came_;
  batch_.bytes += entry.bytes();
  batch_.entries.push_back(std::move(entry));
  const bool full = batch_.entries.size() == entries_in_a_batch || batch_.bytes >= bytes_in_a_batch;
  return full ? finish() : Outcome();
}

Outcome Arrival::finish() {
  if (batch_.entries.empty()) return {};
  const auto stored = store_whole(batch_.entries);
  if (!stored && stored.error().code == ErrorCode::too_large) return store_singly();
  if (!stored) {
    static_cast<void>(to_.leave_corrupt_file());
    return tl::unexpected(stored.error());
  }
  report_.added += *stored;
  // Another process has stored the others meanwhile.
  report_.present += batch_.entries.size() - *stored;
  batch_ = {};
  return {};
}

/// The texts of the entry that the cache does not hold sound. Notes the others in the entry.
Result<std::vector<Digest>> Arrival::texts_missing(PickedUp& picked) {
  std::vector<Digest> missing;
  Hold hold = to_.open();
  if (!hold) return to_.not_open();
  for (const Digest& digest : texts_of(picked)) {
    const auto stored = storage::has_sound_text(hold.connection(), digest);
    if (!stored) return hold.failure("looking for a text");
    (*stored ? picked.entry.relied_on : missing).push_back(digest);
  }
  return missing;
}

/// Whether all texts of an entry that was signed are there, as they were signed. Where they are not, none is taken.
bool Arrival::has_signed_texts(const PickedUp& picked) {
  return picked.proof->covers_texts(picked.contents, texts_.hashes());
}

/// Whether the texts that are here already are those that were signed, and not only of their digests.
bool Arrival::relies_on_signed_texts(const PreparedEntry& entry) {
  return std::ranges::all_of(entry.relied_on, [&](const Digest& text) {
    return own_texts_.hash(text) == texts_.hash(text);
  });
}

/// Stores entries; where another process has cleared texts that they rely on, picks those up and tries once more.
Result<std::uint64_t> Arrival::store_whole(std::span<PreparedEntry> entries) {
  auto stored = store(to_, entries, IfPresent::keep);
  if (stored || stored.error().code != ErrorCode::not_found) return stored;
  std::set<Digest> texts;
  for (PreparedEntry& entry : entries) {
    const auto relied_on = std::exchange(entry.relied_on, {});
    const auto brought =
        bring_texts(entry, relied_on, texts, texts_, batch_.taken, report_.skipped);
    if (!brought) return tl::unexpected(brought.error());
  }
  return store(to_, entries, IfPresent::keep);
}

/// Stores each entry that fits, where the whole batch does not.
Outcome Arrival::store_singly() {
  for (PreparedEntry& entry : batch_.entries) {
    const auto stored = store_whole({&entry, 1});
    if (stored) {
      ++(*stored != 0 ? report_.added : report_.present);
    } else if (stored.error().code == ErrorCode::too_large) {
      report_.skipped.push_back({"entry", entry.key.hex(), "is too large for the size cap"});
    } else {
      return tl::unexpected(stored.error());
    }
  }
  batch_ = {};
  return {};
}

}  // namespace kiln
