#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "cache_impl.h"
#include "cache_pick_up.h"
#include "file/schema.h"
#include "kiln/caller_state.h"
#include "rows/entry_reader.h"
#include "rows/kernel_list.h"

namespace kiln {
namespace {

using storage::RawEntry;
using storage::Statement;

constexpr int shown_candidates = 4;

// The columns that summary_in_row() reads, in its order.
#define SUMMARY_COLUMNS                                                                      \
  "program, arch, kind, toolchain_text, image_bytes, length(payload), kernels, compile_us, " \
  "created, pinned, request, (SELECT value FROM state WHERE name = 'clock') - used, material"

/// What the columns from `first` on hold; the key is not among them.
EntrySummary summary_in_row(Statement& row, int first, const Digest& key) {
  EntrySummary summary;
  summary.key = key;
  summary.program = as_listed(row.text(first));
  summary.arch = as_listed(row.text(first + 1));
  summary.kind = as_listed(row.text(first + 2));
  summary.toolchain = as_listed(row.text(first + 3));
  summary.image_bytes = row.count(first + 4);
  summary.stored_bytes = row.count(first + 5);
  summary.kernels = row.count(first + 6);
  summary.compile_us = row.count(first + 7);
  summary.created = row.integer(first + 8);
  summary.pinned = row.integer(first + 9) != 0;
  summary.request = row.digest(first + 10).value_or(Digest());
  summary.stored_since_use = row.count(first + 11);
  if (auto request = Request::from_material(row.blob(first + 12)))
    summary.engine = std::move(request->engine);
  return summary;
}

/// The least or greatest key with this prefix; nothing where it is no hexadecimal prefix.
std::optional<Digest> key_bound(std::string_view prefix, char fill) {
  std::string digits(prefix);
  digits.resize(std::max(digits.size(), 2 * sizeof(Digest::bytes)), fill);
  return Digest::from_hex(digits);
}

/// Copies the row that the statement gives. Errors: not_found; those of SQLite.
Result<RawEntry> read_entry(Hold& hold, Statement& row, const Digest& key) {
  const auto there = row.next();
  if (there == false) return no_entry(key);
  auto raw = there ? storage::read_row(hold.connection(), row, nullptr) : std::nullopt;
  if (!raw) return hold.failure("reading an entry");
  return std::move(*raw);
}

tl::unexpected<Error> damaged_entry(const Digest& key) {
  return fail(
      ErrorCode::io_failed,
      fmt::format("the entry {} is damaged; it is made anew when it is next compiled", key.hex()));
}

}  // namespace

tl::unexpected<Error> no_entry(const Digest& key) {
  return fail(ErrorCode::not_found, fmt::format("no entry has the key {}", key.hex()));
}

Result<std::vector<EntrySummary>> Cache::list() {
  const CallerState caller;
  std::vector<EntrySummary> entries;
  std::string after;  // Every key is greater than the empty one.
  for (bool more = true; more;) {
    Hold hold = impl_->open();
    if (!hold) return impl_->not_open();
    const storage::Blob last{after};
    Statement row(hold.connection(),
                  "SELECT key, " SUMMARY_COLUMNS
                  " FROM entries LEFT JOIN marks ON marks.entry = entries.id "
                  "WHERE key > ? ORDER BY key LIMIT ?",
                  last, Impl::rows_in_a_step);
    std::string next;
    int rows = 0;
    const bool read = row.for_each([&] {
      ++rows;
      const auto key = row.digest(0);
      // A damaged index might give a key once more, for ever.
      if (!key || key->view() <= (next.empty() ? after : next)) return;
      entries.push_back(summary_in_row(row, 1, *key));
      next = key->view();
    });
    if (!read) return hold.failure("listing");
    more = rows == Impl::rows_in_a_step && !next.empty();
    after = std::move(next);
  }
  return entries;
}

Result<std::vector<EntryKernels>> Cache::kernels() {
  const CallerState caller;
  std::vector<EntryKernels> all;
  std::int64_t after = 0;
  for (int rows = Impl::rows_in_a_step; rows == Impl::rows_in_a_step;) {
    Hold hold = impl_->open();
    if (!hold) return impl_->not_open();
    const auto there = storage::has_table(hold.connection(), storage::LaterTable::kernels);
    if (!there) return hold.failure("looking for kernels");
    if (!*there) return all;
    Statement row(hold.connection(),
                  "SELECT id, key, frame FROM kernels WHERE id > ? ORDER BY id LIMIT ?", after,
                  Impl::rows_in_a_step);
    std::int64_t last = after;
    rows = 0;
    const bool read = row.for_each([&] {
      ++rows;
      last = std::max(last, row.integer(0));
      const auto key = row.digest(1);
      auto kernels = key ? storage::kernels_of(row.blob(2), *key) : std::nullopt;
      if (kernels) all.push_back({*key, std::move(*kernels)});
    });
    if (!read) return hold.failure("listing kernels");
    if (last == after) break;
    after = last;
  }
  return all;
}

Result<Digest> Cache::resolve(std::string_view key_prefix) {
  const CallerState caller;
  const auto least = key_bound(key_prefix, '0');
  const auto greatest = key_bound(key_prefix, 'f');
  if (key_prefix.empty() || !least || !greatest) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' is no key: a key is 1 to 32 hexadecimal digits", key_prefix));
  }
  Hold hold = impl_->open();
  if (!hold) return impl_->not_open();
  Statement row(hold.connection(),
                "SELECT key FROM entries WHERE key BETWEEN ? AND ? ORDER BY key LIMIT ?", *least,
                *greatest, shown_candidates + 1);
  std::vector<Digest> keys;
  const bool read = row.for_each([&] {
    if (const auto key = row.digest(0)) keys.push_back(*key);
  });
  if (!read) return hold.failure("looking for a key");
  if (keys.size() == 1) return keys.front();
  if (keys.empty()) {
    return fail(ErrorCode::not_found,
                fmt::format("no entry has a key that begins with '{}'", key_prefix));
  }
  std::string message = fmt::format("'{}' begins more than one key; give more digits:", key_prefix);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    message += i < shown_candidates ? " " + keys[i].hex() : " …";
  }
  return fail(ErrorCode::ambiguous, std::move(message));
}

Result<StoredEntry> Cache::entry(const Digest& key) {
  const CallerState caller;
  StoredEntry stored;
  Result<RawEntry> row;
  {
    Hold hold = impl_->open();
    if (!hold) return impl_->not_open();
    Statement statement(hold.connection(),
                        "SELECT " KILN_ENTRY_COLUMNS ", " SUMMARY_COLUMNS
                        " FROM entries LEFT JOIN marks ON marks.entry = entries.id WHERE key = ?",
                        key);
    const storage::LongestValue longest(hold.connection(), storage::max_raw_bytes);
    row = read_entry(hold, statement, key);
    if (!row) return tl::unexpected(row.error());
    stored.summary = summary_in_row(statement, storage::first_other_column, key);
  }
  auto request = Request::from_material(row->material);
  auto identity = storage::identify(*row, digest_of(row->material));
  auto artifact = request && identity && identity->key == key
                      ? storage::artifact_of(*row, *identity, *request)
                      : std::nullopt;
  if (!artifact) return damaged_entry(key);
  artifact->origin = impl_->own_origin();
  stored.toolchain = std::move(identity->toolchain);
  stored.request = std::move(*request);
  stored.dependencies = std::move(identity->dependencies);
  stored.artifact = std::move(*artifact);
  return stored;
}

Result<Artifact> Cache::artifact(const Digest& key) {
  const CallerState caller;
  Result<RawEntry> row;
  {
    Hold hold = impl_->open();
    if (!hold) return impl_->not_open();
    // KILN_ENTRY_COLUMNS without the dependencies, which read_row() would copy.
    Statement statement(hold.connection(),
                        "SELECT id, key, toolchain, NULL, compile_us, material, payload, "
                        "toolchain_text, image_bytes FROM entries WHERE key = ?",
                        key);
    const storage::LongestValue longest(hold.connection(), storage::max_raw_bytes);
    row = read_entry(hold, statement, key);
  }
  if (!row) return tl::unexpected(row.error());
  const auto request = Request::from_material(row->material);
  const storage::EntryIdentity identity{key, digest_of(row->material), {}, {}, {}, {}};
  auto artifact = request ? storage::artifact_of(*row, identity, *request) : std::nullopt;
  if (!artifact) return damaged_entry(key);
  artifact->origin = impl_->own_origin();
  return std::move(*artifact);
}

Result<DependencySet> Cache::dependencies(const Digest& key) {
  const CallerState caller;
  Result<RawEntry> row;
  {
    Hold hold = impl_->open();
    if (!hold) return impl_->not_open();
    // KILN_ENTRY_COLUMNS with an empty payload, which read_row() need not copy.
    Statement statement(hold.connection(),
                        "SELECT id, key, toolchain, dependencies, compile_us, material, x'', "
                        "toolchain_text, image_bytes FROM entries WHERE key = ?",
                        key);
    row = read_entry(hold, statement, key);
  }
  if (!row) return tl::unexpected(row.error());
  auto identity = storage::identify(*row, digest_of(row->material));
  if (!identity) return damaged_entry(key);
  return std::move(identity->dependencies);
}

Result<std::string> Cache::text(const Digest& digest) {
  const CallerState caller;
  std::string frame;
  {
    Hold hold = impl_->open();
    if (!hold) return impl_->not_open();
    const storage::LongestValue longest(hold.connection(), storage::max_raw_bytes);
    Statement row(hold.connection(), "SELECT frame FROM texts WHERE digest = ?", digest);
    const auto there = row.next();
    if (there == false) {
      return fail(ErrorCode::not_found, fmt::format("no text has the digest {}", digest.hex()));
    }
    if (!there) return hold.failure("reading a text");
    frame = row.blob(0);
  }
  auto text = storage::text_of(frame, digest);
  if (!text) return fail(ErrorCode::io_failed, fmt::format("the text {} is damaged", digest.hex()));
  return std::move(*text);
}

Result<CacheStatistics> Cache::statistics() {
  const CallerState caller;
  Hold hold = impl_->open();
  if (!hold) return impl_->not_open();
  CacheStatistics sum;
  {
    Statement row(hold.connection(),
                  "SELECT count(*), sum(image_bytes), sum(length(payload)), sum(compile_us) "
                  "FROM entries");
    if (row.next() != true) return hold.failure("counting entries");
    sum.entries = row.count(0);
    sum.image_bytes = row.count(1);
    sum.stored_bytes = row.count(2);
    sum.compile_us = row.count(3);
  }
  {
    Statement row(hold.connection(),
                  "SELECT count(*), sum(raw_bytes), sum(length(frame)) FROM texts");
    if (row.next() != true) return hold.failure("counting texts");
    sum.texts = row.count(0);
    sum.text_bytes = row.count(1);
    sum.stored_text_bytes = row.count(2);
  }
  // Not count(*), which SQLite does in one step: nothing would end it in a file that is made to have no end.
  const auto sets = hold.connection().integer("SELECT count(id) FROM dependency_sets");
  if (!sets) return hold.failure("counting dependency sets");
  sum.dependency_sets = static_cast<std::uint64_t>(*sets);
  const auto pages = hold.connection().integer("PRAGMA page_count");
  const auto page_bytes = hold.connection().integer("PRAGMA page_size");
  if (!pages || !page_bytes) return hold.failure("measuring the file");
  sum.file_bytes = static_cast<std::uint64_t>(*pages * *page_bytes);
  return sum;
}

}  // namespace kiln
