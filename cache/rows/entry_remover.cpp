#include "rows/entry_remover.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "rows/kernel_list.h"
#include "rows/signature_list.h"

namespace kiln::storage {
namespace {

/// Removes a text that neither a dependency set nor an entry's source needs.
bool remove_unneeded_text(Connection& connection, std::int64_t text) {
  return connection.run(
      "DELETE FROM texts WHERE id = ?1 "
      "AND NOT EXISTS (SELECT 1 FROM set_texts WHERE text = ?1) "
      "AND NOT EXISTS (SELECT 1 FROM entries WHERE source = texts.digest)",
      text);
}

bool remove_unneeded_source(Connection& connection, const Digest& source) {
  std::int64_t text = 0;
  {
    Statement row(connection, "SELECT id FROM texts WHERE digest = ?", source);
    const auto found = row.next();
    if (found != true) return found.has_value();
    text = row.integer(0);
  }
  return remove_unneeded_text(connection, text);
}

bool remove_unneeded_set(Connection& connection, std::int64_t set) {
  const auto needed =
      connection.has_row("SELECT 1 FROM entries WHERE dependencies = ? LIMIT 1", set);
  if (needed != false) return needed.has_value();
  std::vector<std::int64_t> texts;
  {
    Statement row(connection, "SELECT text FROM set_texts WHERE dependencies = ?", set);
    if (!row.for_each([&] { texts.push_back(row.integer(0)); })) return false;
  }
  return connection.run("DELETE FROM set_texts WHERE dependencies = ?", set) &&
         connection.run("DELETE FROM witnesses WHERE dependencies = ?", set) &&
         connection.run("DELETE FROM dependency_sets WHERE id = ?", set) &&
         std::all_of(texts.begin(), texts.end(),
                     [&](std::int64_t text) { return remove_unneeded_text(connection, text); });
}

}  // namespace

bool remove_entry(Connection& connection, std::int64_t id) {
  std::optional<Digest> key;
  std::optional<Digest> source;
  std::optional<std::int64_t> set;
  {
    Statement row(connection, "SELECT key, source, dependencies FROM entries WHERE id = ?", id);
    const auto found = row.next();
    if (!found) return false;
    if (*found) {
      key = row.digest(0);
      source = row.digest(1);
      if (!row.is_null(2)) set = row.integer(2);
    }
  }
  // Also where the entry is gone: least_recently_used() would choose its mark for ever.
  return connection.run("DELETE FROM marks WHERE entry = ?", id) &&
         connection.run("DELETE FROM entries WHERE id = ?", id) &&
         (!key || (remove_kernels(connection, *key) && remove_signatures(connection, *key))) &&
         (!set || remove_unneeded_set(connection, *set)) &&
         (!source || remove_unneeded_source(connection, *source));
}

bool remove_orphans(Connection& connection) {
  return mark_unmarked(connection) && remove_kernels_of_none(connection) &&
         remove_signatures_of_none(connection) && connection.execute(R"sql(
DELETE FROM marks WHERE entry NOT IN (SELECT id FROM entries);
DELETE FROM dependency_sets WHERE id NOT IN
  (SELECT dependencies FROM entries WHERE dependencies IS NOT NULL);
DELETE FROM witnesses WHERE dependencies NOT IN (SELECT id FROM dependency_sets);
DELETE FROM set_texts WHERE dependencies NOT IN (SELECT id FROM dependency_sets);
DELETE FROM texts WHERE id NOT IN (SELECT text FROM set_texts)
  AND digest NOT IN (SELECT source FROM entries);
)sql") == SQLITE_OK;
}

bool mark_unmarked(Connection& connection) {
  return connection.execute("INSERT OR IGNORE INTO marks SELECT id, 0, 0 FROM entries") ==
         SQLITE_OK;
}

std::optional<std::int64_t> entry_id(Connection& connection, const Digest& key) {
  return connection.integer("SELECT id FROM entries WHERE key = ?", key);
}

std::optional<std::uint64_t> used_bytes(Connection& connection) {
  const auto pages = connection.integer("PRAGMA page_count");
  const auto unused = connection.integer("PRAGMA freelist_count");
  const auto bytes = connection.integer("PRAGMA page_size");
  if (!pages || !unused || !bytes) return std::nullopt;
  // A damaged header may claim more free pages than there are.
  return static_cast<std::uint64_t>(std::max<std::int64_t>(*pages - *unused, 0) * *bytes);
}

std::optional<std::int64_t> least_recently_used(Connection& connection, std::int64_t but) {
  return connection.integer(
      "SELECT entry FROM marks WHERE pinned = 0 AND entry <> ? ORDER BY used LIMIT 1", but);
}

bool shrink(Connection& connection, int pages) {
  return connection.execute(fmt::format("PRAGMA incremental_vacuum({})", pages).c_str()) ==
         SQLITE_OK;
}

}  // namespace kiln::storage
