#include <algorithm>
#include <cctype>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "cache_impl.h"
#include "entry_reader.h"

namespace kiln {
namespace {

using storage::EntryIdentity;
using storage::EntryReader;
using storage::RowState;
using storage::Statement;

constexpr int shown_candidates = 4;

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
  return summary;
}

/// The least or greatest key with this prefix; nothing where it is no hexadecimal prefix.
std::optional<Digest> key_bound(std::string_view prefix, char fill) {
  std::string digits(prefix);
  digits.resize(std::max(digits.size(), 2 * sizeof(Digest::bytes)), fill);
  return Digest::from_hex(digits);
}

}  // namespace

Result<std::vector<EntrySummary>> Cache::Impl::list() {
  std::lock_guard guard(mutex_);
  Statement row(connection_,
                "SELECT key, program, arch, kind, toolchain_text, image_bytes, length(payload), "
                "kernels, compile_us, created FROM entries ORDER BY key");
  std::vector<EntrySummary> entries;
  int code = row.step();
  for (; code == SQLITE_ROW; code = row.step()) {
    if (const auto key = row.digest(0)) entries.push_back(summary_of(row, 1, *key));
  }
  if (code != SQLITE_DONE) return failure("listing");
  return entries;
}

Result<Digest> Cache::Impl::resolve(std::string_view key_prefix) {
  const auto least = key_bound(key_prefix, '0');
  const auto greatest = key_bound(key_prefix, 'f');
  if (key_prefix.empty() || !least || !greatest) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' is no key: a key is 1 to 32 hexadecimal digits", key_prefix));
  }
  std::lock_guard guard(mutex_);
  Statement row(connection_,
                "SELECT key FROM entries WHERE key BETWEEN ? AND ? ORDER BY key LIMIT ?");
  row.bind_blob(1, least->view()).bind_blob(2, greatest->view());
  row.bind_integer(3, shown_candidates + 1);
  std::vector<Digest> keys;
  int code = row.step();
  for (; code == SQLITE_ROW; code = row.step()) {
    if (const auto key = row.digest(0)) keys.push_back(*key);
  }
  if (code != SQLITE_DONE) return failure("looking for a key");
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
  std::lock_guard guard(mutex_);
  Statement row(connection_,
                "SELECT key, toolchain, dependencies, material, payload, program, arch, kind, "
                "toolchain_text, image_bytes, length(payload), kernels, compile_us, created "
                "FROM entries WHERE key = ?");
  const int code = row.bind_blob(1, key.view()).step();
  if (code == SQLITE_DONE) {
    return fail(ErrorCode::not_found, fmt::format("no entry has the key {}", key.hex()));
  }
  if (code != SQLITE_ROW) return failure("reading an entry");

  const auto damaged = [&] {
    return fail(ErrorCode::io_failed,
                fmt::format("the entry {} is damaged; it is made anew when it is next compiled",
                            key.hex()));
  };
  const auto material = row.blob(storage::material_column);
  auto request = Request::from_material(material);
  if (!request) return damaged();
  EntryReader reader(connection_, decoder_);
  EntryIdentity identity;
  const RowState state = reader.identify(row, digest_of(material), identity);
  if (state == RowState::unreadable) return failure("reading an entry's dependencies");
  if (state == RowState::damaged || identity.key != key) return damaged();
  auto artifact = reader.artifact(row, identity, *request);
  if (!artifact) return damaged();

  StoredEntry stored;
  stored.summary = summary_of(row, storage::first_other_column, key);
  stored.toolchain = {identity.toolchain, stored.summary.toolchain};
  stored.request = std::move(*request);
  stored.dependencies = std::move(identity.dependencies);
  stored.artifact = std::move(*artifact);
  return stored;
}

Result<std::string> Cache::Impl::text(const Digest& digest) {
  std::lock_guard guard(mutex_);
  Statement row(connection_, "SELECT frame FROM texts WHERE digest = ?");
  const int code = row.bind_blob(1, digest.view()).step();
  if (code == SQLITE_DONE) {
    return fail(ErrorCode::not_found, fmt::format("no text has the digest {}", digest.hex()));
  }
  if (code != SQLITE_ROW) return failure("reading a text");
  auto text = decoder_.decode(row.blob(0), storage::text_owner(digest));
  if (!text) {
    return fail(ErrorCode::io_failed, fmt::format("the text {} is damaged", digest.hex()));
  }
  return std::move(*text);
}

Result<CacheStatistics> Cache::Impl::statistics() {
  std::lock_guard guard(mutex_);
  CacheStatistics sum;
  {
    Statement row(connection_,
                  "SELECT count(*), sum(image_bytes), sum(length(payload)), sum(compile_us) "
                  "FROM entries");
    if (row.step() != SQLITE_ROW) return failure("counting entries");
    sum.entries = count(row, 0);
    sum.image_bytes = count(row, 1);
    sum.stored_bytes = count(row, 2);
    sum.compile_us = count(row, 3);
  }
  {
    Statement row(connection_, "SELECT count(*), sum(raw_bytes), sum(length(frame)) FROM texts");
    if (row.step() != SQLITE_ROW) return failure("counting texts");
    sum.texts = count(row, 0);
    sum.text_bytes = count(row, 1);
    sum.stored_text_bytes = count(row, 2);
  }
  const auto sets = connection_.integer("SELECT count(*) FROM dependency_sets");
  if (!sets) return failure("counting dependency sets");
  sum.dependency_sets = static_cast<std::uint64_t>(*sets);
  std::error_code error;
  const auto file_bytes = std::filesystem::file_size(file_, error);
  if (!error) sum.file_bytes = file_bytes;
  return sum;
}

}  // namespace kiln
