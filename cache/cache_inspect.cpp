#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "cache_impl.h"
#include "rows/entry_reader.h"
#include "rows/use_marks.h"

namespace kiln {
namespace {

using storage::Statement;

constexpr int shown_candidates = 4;
constexpr int rows_in_a_step = 500;

// What summary_of() reads, in its order.
#define SUMMARY_COLUMNS                                                                      \
  "program, arch, kind, toolchain_text, image_bytes, length(payload), kernels, compile_us, " \
  "created, pinned"

std::uint64_t count(Statement& row, int column) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(row.integer(column), 0));
}

/// The summary's columns from `first` on, the key apart.
EntrySummary summary_of(Statement& row, int first, const Digest& key) {
  EntrySummary summary;
  summary.key = key;
  summary.program = row.text(first);
  summary.arch = row.text(first + 1);
  summary.kind = row.text(first + 2);
  summary.toolchain = row.text(first + 3);
  summary.image_bytes = count(row, first + 4);
  summary.stored_bytes = count(row, first + 5);
  summary.kernels = count(row, first + 6);
  summary.compile_us = count(row, first + 7);
  summary.created = row.integer(first + 8);
  summary.pinned = row.integer(first + 9) != 0;
  return summary;
}

/// The least or greatest key with this prefix; nothing where it is no hexadecimal prefix.
std::optional<Digest> key_bound(std::string_view prefix, char fill) {
  std::string digits(prefix);
  digits.resize(std::max(digits.size(), 2 * sizeof(Digest::bytes)), fill);
  return Digest::from_hex(digits);
}

}  // namespace

/// In steps, because a reader keeps writers from committing for as long as it reads.
Result<std::vector<EntrySummary>> Cache::Impl::list() {
  std::vector<EntrySummary> entries;
  std::string after;  // Every key is greater than the empty one.
  bool more = ensure_open();
  if (!more) return not_open();
  while (more) {
    Hold hold(*this);
    if (!hold) return not_open();
    Statement row(hold.connection(), "SELECT key, " SUMMARY_COLUMNS
                                     " FROM entries LEFT JOIN marks ON marks.entry = entries.id "
                                     "WHERE key > ? ORDER BY key LIMIT ?");
    row.bind_blob(1, after).bind_integer(2, rows_in_a_step);
    std::string next;
    int rows = 0;
    int code = row.step();
    for (; code == SQLITE_ROW; code = row.step(), ++rows) {
      const auto key = row.digest(0);
      if (!key) continue;
      entries.push_back(summary_of(row, 1, *key));
      next = key->view();
    }
    if (code != SQLITE_DONE) return failure(hold, "listing");
    more = rows == rows_in_a_step && !next.empty();
    after = std::move(next);
  }
  return entries;
}

Result<Digest> Cache::Impl::resolve(std::string_view key_prefix) {
  const auto least = key_bound(key_prefix, '0');
  const auto greatest = key_bound(key_prefix, 'f');
  if (key_prefix.empty() || !least || !greatest) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' is no key: a key is 1 to 32 hexadecimal digits", key_prefix));
  }
  if (!ensure_open()) return not_open();
  Hold hold(*this);
  if (!hold) return not_open();
  Statement row(hold.connection(),
                "SELECT key FROM entries WHERE key BETWEEN ? AND ? ORDER BY key LIMIT ?");
  row.bind_blob(1, least->view()).bind_blob(2, greatest->view());
  row.bind_integer(3, shown_candidates + 1);
  std::vector<Digest> keys;
  int code = row.step();
  for (; code == SQLITE_ROW; code = row.step()) {
    if (const auto key = row.digest(0)) keys.push_back(*key);
  }
  if (code != SQLITE_DONE) return failure(hold, "looking for a key");
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

Result<StoredEntry> Cache::Impl::entry(const Digest& key) {
  if (!ensure_open()) return not_open();
  StoredEntry stored;
  std::optional<storage::RawEntry> row;
  {
    Hold hold(*this);
    if (!hold) return not_open();
    Statement statement(hold.connection(),
                        "SELECT " KILN_ENTRY_COLUMNS ", " SUMMARY_COLUMNS
                        " FROM entries LEFT JOIN marks ON marks.entry = entries.id WHERE key = ?");
    const int code = statement.bind_blob(1, key.view()).step();
    if (code == SQLITE_DONE) {
      return fail(ErrorCode::not_found, fmt::format("no entry has the key {}", key.hex()));
    }
    if (code == SQLITE_ROW) row = storage::read_row(hold.connection(), statement, nullptr);
    if (!row) return failure(hold, "reading an entry");
    stored.summary = summary_of(statement, storage::first_other_column, key);
  }
  auto request = Request::from_material(row->material);
  auto identity = storage::identify(*row, digest_of(row->material));
  auto artifact = request && identity && identity->key == key
                      ? storage::artifact_of(*row, *identity, *request)
                      : std::nullopt;
  if (!artifact) {
    return fail(ErrorCode::io_failed,
                fmt::format("the entry {} is damaged; it is made anew when it is next compiled",
                            key.hex()));
  }
  artifact->origin = own_origin();
  stored.toolchain = std::move(identity->toolchain);
  stored.request = std::move(*request);
  stored.dependencies = std::move(identity->dependencies);
  stored.artifact = std::move(*artifact);
  return stored;
}

Result<std::string> Cache::Impl::text(const Digest& digest) {
  if (!ensure_open()) return not_open();
  std::string frame;
  {
    Hold hold(*this);
    if (!hold) return not_open();
    Statement row(hold.connection(), "SELECT frame FROM texts WHERE digest = ?");
    const int code = row.bind_blob(1, digest.view()).step();
    if (code == SQLITE_DONE) {
      return fail(ErrorCode::not_found, fmt::format("no text has the digest {}", digest.hex()));
    }
    if (code != SQLITE_ROW) return failure(hold, "reading a text");
    frame = row.blob(0);
  }
  auto text = storage::thread_decoder().decode(frame, storage::text_owner(digest));
  if (!text || digest_of(*text) != digest) {
    return fail(ErrorCode::io_failed, fmt::format("the text {} is damaged", digest.hex()));
  }
  return std::move(*text);
}

Result<CacheStatistics> Cache::Impl::statistics() {
  if (!ensure_open()) return not_open();
  Hold hold(*this);
  if (!hold) return not_open();
  CacheStatistics sum;
  {
    Statement row(hold.connection(),
                  "SELECT count(*), sum(image_bytes), sum(length(payload)), sum(compile_us) "
                  "FROM entries");
    if (row.step() != SQLITE_ROW) return failure(hold, "counting entries");
    sum.entries = count(row, 0);
    sum.image_bytes = count(row, 1);
    sum.stored_bytes = count(row, 2);
    sum.compile_us = count(row, 3);
  }
  {
    Statement row(hold.connection(),
                  "SELECT count(*), sum(raw_bytes), sum(length(frame)) FROM texts");
    if (row.step() != SQLITE_ROW) return failure(hold, "counting texts");
    sum.texts = count(row, 0);
    sum.text_bytes = count(row, 1);
    sum.stored_text_bytes = count(row, 2);
  }
  const auto sets = hold.connection().integer("SELECT count(*) FROM dependency_sets");
  if (!sets) return failure(hold, "counting dependency sets");
  sum.dependency_sets = static_cast<std::uint64_t>(*sets);
  const auto pages = hold.connection().integer("PRAGMA page_count");
  const auto page_bytes = hold.connection().integer("PRAGMA page_size");
  if (!pages || !page_bytes) return failure(hold, "measuring the file");
  sum.file_bytes = static_cast<std::uint64_t>(*pages * *page_bytes);
  return sum;
}

Result<CacheCounters> Cache::Impl::history() {
  if (!ensure_open()) return not_open();
  Hold hold(*this);
  if (!hold) return not_open();
  const auto counters = storage::read_history(hold.connection());
  if (!counters) return failure(hold, "reading the history");
  return *counters;
}

}  // namespace kiln
