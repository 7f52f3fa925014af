#include "rows/tally.h"

#include <cerrno>
#include <limits>

#include <sqlite3.h>

namespace kiln {
namespace {

constexpr std::array<const char*, counter_count> names{
    "hits_memory",   "hits_local",       "hits_bundle",    "hits_remote",       "misses_absent",
    "misses_unfit",  "misses_untrusted", "misses_damaged", "misses_unreadable", "damaged_rows",
    "stores",        "evictions",        "refused_images", "too_large",         "errors_full",
    "errors_locked", "errors_denied",    "errors_corrupt", "errors_io",         "generations",
    "reopened",      "saved_us"};

std::uint64_t sum(const CacheCounters& counters, Counter first, Counter last) noexcept {
  std::uint64_t total = 0;
  for (auto at = static_cast<std::size_t>(first); at <= static_cast<std::size_t>(last); ++at) {
    total += counters.values[at];
  }
  return total;
}

}  // namespace

const char* to_string(Counter counter) noexcept { return names[static_cast<std::size_t>(counter)]; }

std::uint64_t CacheCounters::hits() const noexcept {
  return sum(*this, Counter::hits_memory, Counter::hits_remote);
}

std::uint64_t CacheCounters::misses() const noexcept {
  return sum(*this, Counter::misses_absent, Counter::misses_unreadable);
}

std::uint64_t CacheCounters::errors() const noexcept {
  return sum(*this, Counter::errors_full, Counter::errors_io);
}

namespace storage {

CacheCounters Tally::now() const noexcept {
  CacheCounters counters;
  for (std::size_t at = 0; at < counter_count; ++at) counters.values[at] = values_[at];
  return counters;
}

void add(CacheCounters& sum, const CacheCounters& more) noexcept {
  constexpr auto greatest = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t at = 0; at < counter_count; ++at) {
    auto& value = sum.values[at];
    value = more.values[at] > greatest - value ? greatest : value + more.values[at];
  }
}

CacheCounters difference(const CacheCounters& now, const CacheCounters& before) noexcept {
  CacheCounters rest;
  for (std::size_t at = 0; at < counter_count; ++at) {
    rest.values[at] = now.values[at] - before.values[at];
  }
  return rest;
}

Counter counter_of_failure(int sqlite_code, int system_error) noexcept {
  const int primary = sqlite_code & 0xff;
  // SQLite keeps the number of an earlier failure; with these two it is this one's.
  const bool of_the_system = primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN;
  if (of_the_system && (system_error == ENOSPC || system_error == EDQUOT)) {
    return Counter::errors_full;
  }
  switch (primary) {
    case SQLITE_FULL:
      return Counter::errors_full;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return Counter::errors_locked;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
      return Counter::errors_denied;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Counter::errors_corrupt;
    default:
      return Counter::errors_io;
  }
}

std::size_t counter_of_name(std::string_view name) noexcept {
  std::size_t at = 0;
  while (at < counter_count && names[at] != name) ++at;
  return at;
}

void Faults::tell(Counter kind, std::string_view line) {
  if (tell_ && !told_[static_cast<std::size_t>(kind)].exchange(true)) tell_(line);
}

}  // namespace storage
}  // namespace kiln
