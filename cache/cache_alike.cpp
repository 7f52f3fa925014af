#include <limits>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cache_impl.h"
#include "kiln/caller_state.h"

namespace kiln {

using storage::Statement;

namespace {

// The columns that stored_request() reads, in its order.
#define STORED_REQUEST_COLUMNS "key, request, toolchain, toolchain_text, material"

/// What the columns from `first` on hold; nothing for a damaged row.
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

/// What alike() has found so far.
struct Search {
  const Request& request;
  const AlikeLimits& limits;
  std::vector<StoredRequest> found = {};
  std::unordered_set<Digest, DigestHash> keys = {};

  void take(std::optional<StoredRequest> stored) {
    if (stored && keys.insert(stored->key).second) found.push_back(std::move(*stored));
  }
};

constexpr const char* looking = "looking for entries alike";

/// Takes the rows that an index finds. REQUIRES: `sql` has static lifetime.
Outcome take_equal(Cache::Impl& cache, Search& search, std::string_view sql, const Digest& value) {
  Hold hold = cache.open();
  if (!hold) return cache.not_open();
  Statement row(hold.connection(), sql, value, search.limits.entries);
  if (!row.for_each([&] { search.take(stored_request(row, 0)); })) return hold.failure(looking);
  return {};
}

/// Takes the entries of the program's name, in steps that hold up no writer.
Outcome take_named(Cache::Impl& cache, Search& search) {
  std::int64_t before = std::numeric_limits<std::int64_t>::max();
  std::size_t looked_at = 0;
  std::size_t named = 0;
  for (bool more = search.limits.rows > 0; more;) {
    Hold hold = cache.open();
    if (!hold) return cache.not_open();
    Statement row(hold.connection(),
                  "SELECT id, program, " STORED_REQUEST_COLUMNS
                  " FROM entries WHERE id < ? ORDER BY id DESC LIMIT ?",
                  before, Cache::Impl::rows_in_a_step);
    int rows = 0;
    auto there = row.next();
    for (; there == true && named < search.limits.entries; there = row.next(), ++rows) {
      // A table that kiln did not make might give one row for ever.
      if (row.integer(0) >= before) return {};
      before = row.integer(0);
      if (row.text(1) != search.request.program) continue;
      search.take(stored_request(row, 2));
      ++named;
    }
    if (!there) return hold.failure(looking);
    looked_at += static_cast<std::size_t>(rows);
    more = rows == Cache::Impl::rows_in_a_step && named < search.limits.entries &&
           looked_at < search.limits.rows;
  }
  return {};
}

}  // namespace

Result<std::vector<StoredRequest>> Cache::alike(const Request& request, const AlikeLimits& limits) {
  const CallerState caller;
  Search search{request, limits};
  if (impl_->ensure_open() && impl_->asks_for_proof()) return std::move(search.found);
  auto taken = take_equal(*impl_, search,
                          "SELECT " STORED_REQUEST_COLUMNS
                          " FROM entries WHERE request = ? ORDER BY id DESC LIMIT ?",
                          digest_of(request.material()));
  if (taken) {
    taken = take_equal(*impl_, search,
                       "SELECT " STORED_REQUEST_COLUMNS
                       " FROM entries WHERE source = ? ORDER BY id DESC LIMIT ?",
                       request.source);
  }
  if (taken) taken = take_named(*impl_, search);
  if (!taken) return tl::unexpected(std::move(taken.error()));
  // Nobody has vouched for the requests of strangers, whose directory another thread may have opened meanwhile.
  if (impl_->asks_for_proof()) search.found.clear();
  return std::move(search.found);
}

}  // namespace kiln
