#include "rows/entry_remover.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace kiln::storage {
namespace {

enum class Answer { yes, no, unknown };

Answer answer_of(int code) {
  return code == SQLITE_ROW ? Answer::yes : code == SQLITE_DONE ? Answer::no : Answer::unknown;
}

bool remove_by(Connection& connection, std::string_view sql, std::int64_t id) {
  Statement row(connection, sql);
  return row.bind_integer(1, id).run();
}

/// Removes a text that neither a dependency set nor an entry's source needs.
bool remove_unneeded_text(Connection& connection, std::int64_t text) {
  Statement row(connection,
                "DELETE FROM texts WHERE id = ?1 "
                "AND NOT EXISTS (SELECT 1 FROM set_texts WHERE text = ?1) "
                "AND NOT EXISTS (SELECT 1 FROM entries WHERE source = texts.digest)");
  return row.bind_integer(1, text).run();
}

bool remove_unneeded_source(Connection& connection, const Digest& source) {
  std::int64_t text = 0;
  {
    Statement row(connection, "SELECT id FROM texts WHERE digest = ?");
    const auto found = answer_of(row.bind_blob(1, source.view()).step());
    if (found != Answer::yes) return found == Answer::no;
    text = row.integer(0);
  }
  return remove_unneeded_text(connection, text);
}

bool remove_unneeded_set(Connection& connection, std::int64_t set) {
  {
    Statement row(connection, "SELECT 1 FROM entries WHERE dependencies = ? LIMIT 1");
    const auto needed = answer_of(row.bind_integer(1, set).step());
    if (needed != Answer::no) return needed == Answer::yes;
  }
  std::vector<std::int64_t> texts;
  {
    Statement row(connection, "SELECT text FROM set_texts WHERE dependencies = ?");
    row.bind_integer(1, set);
    int code = row.step();
    for (; code == SQLITE_ROW; code = row.step()) texts.push_back(row.integer(0));
    if (code != SQLITE_DONE) return false;
  }
  if (!remove_by(connection, "DELETE FROM set_texts WHERE dependencies = ?", set) ||
      !remove_by(connection, "DELETE FROM witnesses WHERE dependencies = ?", set) ||
      !remove_by(connection, "DELETE FROM dependency_sets WHERE id = ?", set)) {
    return false;
  }
  for (const std::int64_t text : texts) {
    if (!remove_unneeded_text(connection, text)) return false;
  }
  return true;
}

}  // namespace

bool remove_entry(Connection& connection, std::int64_t id) {
  std::optional<Digest> source;
  std::optional<std::int64_t> set;
  {
    Statement row(connection, "SELECT source, dependencies FROM entries WHERE id = ?");
    const auto found = answer_of(row.bind_integer(1, id).step());
    if (found == Answer::unknown) return false;
    if (found == Answer::yes) {
      source = row.digest(0);
      if (!row.is_null(1)) set = row.integer(1);
    }
  }
  // The mark also of an entry that is not there: it would be taken for the oldest for ever.
  return remove_by(connection, "DELETE FROM marks WHERE entry = ?", id) &&
         remove_by(connection, "DELETE FROM entries WHERE id = ?", id) &&
         (!set || remove_unneeded_set(connection, *set)) &&
         (!source || remove_unneeded_source(connection, *source));
}

bool remove_orphans(Connection& connection) {
  return mark_unmarked(connection) && connection.execute(R"sql(
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
  Statement row(connection, "SELECT id FROM entries WHERE key = ?");
  if (row.bind_blob(1, key.view()).step() != SQLITE_ROW) return std::nullopt;
  return row.integer(0);
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
  Statement row(connection,
                "SELECT entry FROM marks WHERE pinned = 0 AND entry <> ? ORDER BY used LIMIT 1");
  if (row.bind_integer(1, but).step() != SQLITE_ROW) return std::nullopt;
  return row.integer(0);
}

bool shrink(Connection& connection, int pages) {
  return connection.execute(fmt::format("PRAGMA incremental_vacuum({})", pages).c_str()) ==
         SQLITE_OK;
}

}  // namespace kiln::storage
