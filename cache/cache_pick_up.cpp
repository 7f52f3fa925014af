#include "cache_pick_up.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "file/schema.h"
#include "rows/entry_reader.h"
#include "rows/kernel_list.h"
#include "rows/signature_list.h"
#include "rows/signed_row.h"
#include "signing/signature.h"

namespace kiln {

using storage::Connection;
using storage::PreparedText;
using storage::Proof;
using storage::RawEntry;
using storage::Statement;

namespace {

constexpr const char* damaged = "is damaged";
constexpr const char* unreadable = "cannot be read: the database is corrupt there";

/// Leaves out a row on a damaged page; any other failure is an error.
template <class Row>
Result<std::optional<Row>> skip_unreadable(tl::unexpected<Error> failed, std::string what,
                                           const Digest& name, std::vector<Finding>& skipped) {
  if (!storage::is_corrupt(failed.value().vendor_code)) return failed;
  skipped.push_back({std::move(what), name.hex(), unreadable});
  return std::optional<Row>();
}

std::optional<RawEntry> read_unsigned(Connection& connection, const Located& at) {
  Statement row(connection, "SELECT " KILN_ENTRY_COLUMNS " FROM entries WHERE id = ? AND key = ?",
                at.id, at.key);
  const auto there = row.next();
  if (!there) return std::nullopt;
  if (!*there) return RawEntry{.id = at.id, .key = {}, .toolchain = {}};
  auto raw = storage::read_row(connection, row, nullptr);
  auto kernels = raw ? storage::read_kernels(connection, at.key) : std::nullopt;
  auto signatures = kernels ? storage::read_signatures(connection, at.key, {}) : std::nullopt;
  if (!signatures) return std::nullopt;
  raw->kernels_frame = std::move(*kernels);
  raw->signatures = std::move(*signatures);
  return raw;
}

/// The entry as its signer knows it; nothing, and a finding, for any other.
std::optional<PickedUp> take_proven(RawEntry raw, const TrustedKeys& keys,
                                    std::vector<Finding>& skipped) {
  const auto key = raw.key->hex();
  PickedUp picked;
  picked.proof = Proof::of(raw, keys);
  if (!picked.proof) {
    skipped.push_back({"entry", key, "no trusted key has signed it as it is (KILN_TRUSTED_KEYS)"});
    return std::nullopt;
  }
  if (!picked.proof->covers_kernels(raw.kernels_frame)) raw.kernels_frame.clear();
  storage::ProvenOnly proven_only(&*picked.proof);
  auto entry = storage::prepare_again(std::move(raw), std::ref(proven_only), &picked.contents);
  if (!entry) {
    skipped.push_back(
        {"entry", key,
         proven_only.refused() ? "is not as " + picked.proof->signer() + " signed it" : damaged});
    return std::nullopt;
  }
  picked.entry = std::move(*entry);
  // What others added may be of nobody, and stand in the way of what is right.
  picked.entry.signatures = picked.proof->records();
  return picked;
}

std::optional<PickedUp> take(RawEntry raw, WithContents with_contents,
                             std::vector<Finding>& skipped) {
  const auto key = raw.key->hex();
  PickedUp picked;
  auto entry = storage::prepare_again(
      std::move(raw), {}, with_contents == WithContents::yes ? &picked.contents : nullptr);
  if (!entry) {
    skipped.push_back({"entry", key, damaged});
    return std::nullopt;
  }
  picked.entry = std::move(*entry);
  return picked;
}

bool may_be_decoded(Cache::Impl& source, std::string_view frame, const Digest& digest) {
  if (!source.asks_for_proof()) return true;
  const auto size = storage::FrameDecoder::sound_size(frame, storage::text_owner(digest));
  return size && *size <= most_text_bytes;
}

/// As it lies there; empty where it does not. An error where SQLite could not read.
Result<std::string> frame_in(Cache::Impl& source, const Digest& digest) {
  Hold hold = source.open();
  if (!hold) return source.not_open();
  const storage::LongestValue longest(hold.connection(), most_text_bytes);
  Statement row(hold.connection(), "SELECT frame FROM texts WHERE digest = ?", digest);
  const auto there = row.next();
  if (!there) return hold.failure("reading a text");
  return std::string(*there ? row.blob(0) : std::string_view());
}

std::optional<std::string> hash_in(Cache::Impl& source, const Digest& digest) {
  const auto frame = frame_in(source, digest);
  if (!frame || !may_be_decoded(source, *frame, digest)) return std::nullopt;
  const auto text = storage::text_of(*frame, digest);
  return text ? std::optional(storage::hash_of(*text)) : std::nullopt;
}

/// Reads and checks a text. Gives nothing for a damaged one, and for one that is not there.
Result<std::optional<PreparedText>> pick_up_text(Cache::Impl& source, const Digest& digest,
                                                 std::vector<Finding>& skipped) {
  auto frame = frame_in(source, digest);
  if (!frame) {
    return skip_unreadable<PreparedText>(tl::unexpected(std::move(frame.error())), "text", digest,
                                         skipped);
  }
  if (frame->empty()) return std::optional<PreparedText>();
  auto text = may_be_decoded(source, *frame, digest) ? storage::prepare_again(digest, *frame)
                                                     : std::nullopt;
  if (!text) skipped.push_back({"text", digest.hex(), damaged});
  return text;
}

bool is_of_hash(const PreparedText& read, const std::optional<std::string>& hash) {
  const auto text = storage::text_of(read.frame, read.digest);
  return text && hash == storage::hash_of(*text);
}

}  // namespace

Result<std::vector<Located>> locate_entries(Cache::Impl& cache, std::vector<Finding>& skipped) {
  std::vector<Located> found;
  // kiln counts from 1; what a stranger numbered otherwise shall not be overlooked.
  std::int64_t from = std::numeric_limits<std::int64_t>::min();
  for (int rows = Cache::Impl::rows_in_a_step; rows == Cache::Impl::rows_in_a_step;) {
    Hold hold = cache.open();
    if (!hold) return cache.not_open();
    Statement row(hold.connection(),
                  "SELECT id, key FROM entries WHERE id >= ? ORDER BY id LIMIT ?", from,
                  Cache::Impl::rows_in_a_step);
    auto there = row.next();
    for (rows = 0; there == true; there = row.next(), ++rows) {
      const std::int64_t id = row.integer(0);
      if (id < from || id == std::numeric_limits<std::int64_t>::max()) {
        return fail(ErrorCode::io_failed,
                    fmt::format("cache '{}': its rows are out of order; it is damaged",
                                hold.database().file.string()));
      }
      from = id + 1;
      if (const auto key = row.digest(1)) {
        found.push_back({*key, id, &cache});
      } else {
        skipped.push_back({"entry", fmt::format("row {}", id), damaged});
      }
    }
    if (!there) return hold.failure("listing");
  }
  std::sort(found.begin(), found.end(),
            [](const Located& a, const Located& b) { return a.key < b.key; });
  return found;
}

Result<std::vector<Located>> locate_entries(Cache::Impl& cache, const std::vector<Digest>& keys) {
  std::vector<Located> found;
  for (const Digest& key : std::set<Digest>(keys.begin(), keys.end())) {
    Hold hold = cache.open();
    if (!hold) return cache.not_open();
    Statement row(hold.connection(), "SELECT id FROM entries WHERE key = ?", key);
    const auto there = row.next();
    if (!there) return hold.failure("looking for an entry");
    if (*there) found.push_back({key, row.integer(0), &cache});
  }
  return found;
}

Result<bool> has_entry(Cache::Impl& cache, const Digest& key) {
  Hold hold = cache.open();
  if (!hold) return cache.not_open();
  const auto there = hold.connection().has_row("SELECT 1 FROM entries WHERE key = ?", key);
  if (!there) return hold.failure("looking for an entry");
  return *there;
}

Result<bool> answers(Cache::Impl& cache, const Digest& key, const Digest& request) {
  Hold hold = cache.open();
  if (!hold) return cache.not_open();
  const auto there = hold.connection().has_row(
      "SELECT 1 FROM entries WHERE key = ? AND request = ?", key, request);
  if (!there) return hold.failure("looking for an entry");
  return *there;
}

Result<std::optional<PickedUp>> pick_up(const Located& at, WithContents with_contents,
                                        std::vector<Finding>& skipped, TrustedKeys keys) {
  std::optional<RawEntry> raw;
  {
    Hold hold = at.source->open();
    if (!hold) return at.source->not_open();
    if (keys.empty()) keys = at.source->keys_asked_for();
    raw = keys.empty() ? read_unsigned(hold.connection(), at)
                       : storage::read_signed_row(hold.connection(), at.id, at.key, keys);
    if (!raw)
      return skip_unreadable<PickedUp>(hold.failure("reading an entry"), "entry", at.key, skipped);
    if (raw->signatures.empty()) hold.found_unproven();
  }
  // Its id may be that of another entry by now.
  if (!raw->key) {
    const auto there = has_entry(*at.source, at.key);
    if (!there) return tl::unexpected(there.error());
    // The scan has seen the entry. Either somebody removed it since, or a page that leads to it is damaged.
    if (*there || at.source->is_bundle()) skipped.push_back({"entry", at.key.hex(), unreadable});
    return std::optional<PickedUp>();
  }
  return examine(std::move(*raw), with_contents, keys, skipped);
}

std::optional<PickedUp> examine(RawEntry row, WithContents with_contents, const TrustedKeys& keys,
                                std::vector<Finding>& skipped) {
  return keys.empty() ? take(std::move(row), with_contents, skipped)
                      : take_proven(std::move(row), keys, skipped);
}

EntrySummary summary_of(const storage::PreparedEntry& entry) {
  EntrySummary summary;
  summary.key = entry.key;
  summary.program = as_listed(entry.program);
  if (const auto request = Request::from_material(entry.material))
    summary.engine = as_listed(request->engine);
  summary.arch = as_listed(entry.arch);
  summary.kind = as_listed(entry.kind);
  summary.toolchain = as_listed(entry.toolchain_text);
  summary.image_bytes = entry.image_bytes;
  summary.stored_bytes = entry.payload.size();
  summary.kernels = entry.kernels;
  summary.compile_us = entry.compile_us;
  summary.created = entry.created;
  summary.request = entry.request;
  return summary;
}

Result<std::optional<PreparedText>> CacheTexts::text(const Digest& digest,
                                                     std::vector<Finding>& skipped) {
  std::optional<PreparedText> text;
  for (auto cache = caches_.begin(); !text && cache != caches_.end(); ++cache) {
    auto there = pick_up_text(**cache, digest, skipped);
    if (!there) return there;
    text = std::move(*there);
  }
  return text;
}

std::optional<std::string> CacheTexts::hash(const Digest& digest) {
  const auto [at, is_new] = known_.try_emplace(digest);
  for (auto* const cache : caches_) {
    if (is_new && !at->second) at->second = hash_in(*cache, digest);
  }
  return at->second;
}

bool has_any_text(const storage::Contents& contents, TextSource& texts) {
  const auto is_there = [&](const Digest& text) { return texts.hash(text).has_value(); };
  return (!contents.source.empty() && is_there(contents.source)) ||
         std::ranges::any_of(contents.headers, is_there);
}

std::vector<Digest> texts_of(const PickedUp& picked) {
  const auto& [entry, contents, proof] = picked;
  auto texts = proof ? contents.headers : entry.headers;
  const auto& source = proof ? contents.source : entry.source;
  if (!source.empty()) texts.push_back(source);
  return texts;
}

Outcome bring_texts(storage::PreparedEntry& entry, const std::vector<Digest>& texts,
                    std::set<Digest>& brought, TextSource& from, TextsTaken taken,
                    std::vector<Finding>& skipped) {
  for (const Digest& digest : texts) {
    if (!brought.insert(digest).second) continue;
    auto text = from.text(digest, skipped);
    if (!text) return tl::unexpected(text.error());
    const bool as_hashed =
        *text && (taken == TextsTaken::as_they_are || is_of_hash(**text, from.hash(digest)));
    if (as_hashed) entry.texts.push_back(std::move(**text));
  }
  return {};
}

}  // namespace kiln
