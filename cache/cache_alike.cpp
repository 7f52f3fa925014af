#include <limits>
#include <string>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "cache_impl.h"
#include "rows/entry_reader.h"

namespace kiln {

using storage::Statement;

namespace {

constexpr int rows_in_a_step = 500;

// What stored_request() reads, in its order.
#define STORED_REQUEST_COLUMNS "key, request, toolchain, toolchain_text, material"

/// The columns from `first` on; nothing for a damaged row.
std::optional<StoredRequest> stored_request(Statement& row, int first) {
  const auto key = row.digest(first);
  const auto digest = row.digest(first + 1);
  const auto toolchain = row.digest(first + 2);
  const std::string material(row.blob(first + 4));
  if (!key || !digest || !toolchain || digest_of(material) != *digest) return std::nullopt;
  auto request = Request::from_material(material);
  if (!request) return std::nullopt;
  return StoredRequest{*key, {*toolchain, std::string(row.text(first + 3))}, std::move(*request)};
}

}  // namespace

struct Cache::Impl::AlikeSearch {
  const Request& request;
  const AlikeLimits& limits;
  std::vector<StoredRequest> found = {};
  std::unordered_set<Digest, DigestHash> keys = {};

  void take(std::optional<StoredRequest> stored) {
    if (stored && keys.insert(stored->key).second) found.push_back(std::move(*stored));
  }
};

Result<std::vector<StoredRequest>> Cache::Impl::alike(const Request& request,
                                                      const AlikeLimits& limits) {
  if (!ensure_open()) return not_open();
  AlikeSearch search{request, limits};
  auto taken = take_equal(search,
                          "SELECT " STORED_REQUEST_COLUMNS
                          " FROM entries WHERE request = ? ORDER BY id DESC LIMIT ?",
                          digest_of(request.material()));
  if (taken) {
    taken = take_equal(search,
                       "SELECT " STORED_REQUEST_COLUMNS
                       " FROM entries WHERE source = ? ORDER BY id DESC LIMIT ?",
                       request.source);
  }
  if (taken) taken = take_named(search);
  if (!taken) return tl::unexpected(std::move(taken.error()));
  return std::move(search.found);
}

/// By an index. REQUIRES: `sql` has static lifetime.
Result<void> Cache::Impl::take_equal(AlikeSearch& search, std::string_view sql,
                                     const Digest& value) {
  Hold hold(*this);
  if (!hold) return not_open();
  Statement row(hold.connection(), sql);
  row.bind_blob(1, value.view());
  row.bind_integer(2, static_cast<std::int64_t>(search.limits.entries));
  int code = row.step();
  for (; code == SQLITE_ROW; code = row.step()) search.take(stored_request(row, 0));
  if (code != SQLITE_DONE) return failure(hold, "looking for entries alike");
  return {};
}

/// In steps, because a reader keeps writers from committing for as long as it reads.
Result<void> Cache::Impl::take_named(AlikeSearch& search) {
  std::int64_t before = std::numeric_limits<std::int64_t>::max();
  std::size_t looked_at = 0;
  std::size_t named = 0;
  for (bool more = search.limits.rows > 0; more;) {
    Hold hold(*this);
    if (!hold) return not_open();
    Statement row(hold.connection(), "SELECT id, program, " STORED_REQUEST_COLUMNS
                                     " FROM entries WHERE id < ? ORDER BY id DESC LIMIT ?");
    row.bind_integer(1, before).bind_integer(2, rows_in_a_step);
    int rows = 0;
    int code = row.step();
    for (; code == SQLITE_ROW && named < search.limits.entries; code = row.step(), ++rows) {
      // A table of another making might give one row for ever.
      if (row.integer(0) >= before) return {};
      before = row.integer(0);
      if (row.text(1) != search.request.program) continue;
      search.take(stored_request(row, 2));
      ++named;
    }
    if (code != SQLITE_DONE && code != SQLITE_ROW)
      return failure(hold, "looking for entries alike");
    looked_at += static_cast<std::size_t>(rows);
    more =
        rows == rows_in_a_step && named < search.limits.entries && looked_at < search.limits.rows;
  }
  return {};
}

Result<DependencySet> Cache::Impl::dependencies(const Digest& key) {
  if (!ensure_open()) return not_open();
  std::optional<storage::RawEntry> row;
  {
    Hold hold(*this);
    if (!hold) return not_open();
    // As KILN_ENTRY_COLUMNS, without the image.
    Statement statement(hold.connection(),
                        "SELECT id, key, toolchain, dependencies, compile_us, material, x'', "
                        "toolchain_text "
                        "FROM entries WHERE key = ?");
    const int code = statement.bind_blob(1, key.view()).step();
    if (code == SQLITE_DONE) {
      return fail(ErrorCode::not_found, fmt::format("no entry has the key {}", key.hex()));
    }
    if (code == SQLITE_ROW) row = storage::read_row(hold.connection(), statement, nullptr);
    if (!row) return failure(hold, "reading an entry");
  }
  auto identity = storage::identify(*row, digest_of(row->material));
  if (!identity) {
    return fail(ErrorCode::io_failed,
                fmt::format("the entry {} is damaged; it is made anew when it is next compiled",
                            key.hex()));
  }
  return std::move(identity->dependencies);
}

}  // namespace kiln
