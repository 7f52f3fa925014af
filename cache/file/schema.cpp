#include "file/schema.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

namespace kiln::storage {
namespace {

constexpr std::int64_t application_id = 0x6b696c6e;  // "kiln"; in the definition as well
constexpr std::int64_t schema_version = 1;

// Small columns stand first, so that a listing reads only the page that a row begins in. Tables with blobs have row
// ids, because tables without take up to twice the room for them.
//
// It is one transaction, so that nobody ever sees half a schema. Incremental vacuum lets kiln give free pages back in
// small steps. It has to be chosen before the first page is made, hence no BEGIN IMMEDIATE.
constexpr const char* definition = R"sql(
BEGIN;
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA application_id = 0x6b696c6e;
PRAGMA user_version = 1;
CREATE TABLE texts(
  id INTEGER PRIMARY KEY,
  digest BLOB NOT NULL UNIQUE,
  raw_bytes INTEGER NOT NULL,
  frame BLOB NOT NULL);
CREATE TABLE dependency_sets(
  id INTEGER PRIMARY KEY,
  digest BLOB NOT NULL UNIQUE,
  frame BLOB NOT NULL);
CREATE TABLE set_texts(
  dependencies INTEGER NOT NULL,
  text INTEGER NOT NULL,
  PRIMARY KEY(dependencies, text)) WITHOUT ROWID;
CREATE TABLE witnesses(
  id INTEGER PRIMARY KEY,
  dependencies INTEGER NOT NULL,
  roots BLOB NOT NULL,
  frame BLOB NOT NULL,
  UNIQUE(dependencies, roots));
CREATE TABLE entries(
  id INTEGER PRIMARY KEY,
  key BLOB NOT NULL UNIQUE,
  request BLOB NOT NULL,
  toolchain BLOB NOT NULL,
  source BLOB NOT NULL,
  dependencies INTEGER,
  image_bytes INTEGER NOT NULL,
  kernels INTEGER NOT NULL,
  compile_us INTEGER NOT NULL,
  created INTEGER NOT NULL,
  arch TEXT NOT NULL,
  kind TEXT NOT NULL,
  toolchain_text TEXT NOT NULL,
  program TEXT NOT NULL,
  material BLOB NOT NULL,
  payload BLOB NOT NULL);
CREATE TABLE marks(
  entry INTEGER PRIMARY KEY,
  used INTEGER NOT NULL,
  pinned INTEGER NOT NULL);
CREATE TABLE state(
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX set_texts_by_text ON set_texts(text);
CREATE INDEX marks_by_use ON marks(pinned, used);
CREATE INDEX entries_by_request ON entries(request);
CREATE INDEX entries_by_source ON entries(source);
CREATE INDEX entries_by_dependencies ON entries(dependencies);
COMMIT;
)sql";

/// Made by the first put that needs it, so that files of an earlier kiln get it too. Spelled as SQLite keeps it in the file.
struct LaterDefinition {
  std::string_view name;
  std::string_view statement;
};

constexpr LaterDefinition later_kernels{
    "kernels",
    "CREATE TABLE kernels(id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, frame BLOB NOT NULL)"};
constexpr LaterDefinition later_signatures{"signatures",
                                           "CREATE TABLE signatures(id INTEGER PRIMARY KEY, key "
                                           "BLOB NOT NULL, signer TEXT NOT NULL, record BLOB "
                                           "NOT NULL, UNIQUE(key, signer))"};

constexpr const LaterDefinition& definition_of(LaterTable table) {
  return table == LaterTable::kernels ? later_kernels : later_signatures;
}

/// No mmap, because a file that somebody truncates would end the process with a signal. SQLite's own size of its page cache
/// (in KiB), because a file may say another.
constexpr const char* settings =
    "PRAGMA mmap_size=0; PRAGMA cell_size_check=ON; PRAGMA synchronous=FULL; "
    "PRAGMA cache_size=-2000";

/// The definition of each table and index, by its name.
using Objects = std::map<std::string, std::string>;

/// As the file says. Nothing where SQLite could not read.
std::optional<Objects> objects_of(Connection& connection) {
  Objects objects;
  Statement row(connection,
                "SELECT name, type || ' of ' || tbl_name || ': ' || ifnull(sql, '') "
                "FROM sqlite_schema");
  const bool read = row.for_each([&] {
    const std::string name(row.text(0));
    if (!name.empty() && objects.emplace(name, row.text(1)).second) return;
    // One whose name is no text, and a second one of a name, are none that kiln makes.
    objects[name + " (another)"] = "";
  });
  return read ? std::optional(std::move(objects)) : std::nullopt;
}

/// The objects of these names as SQLite itself has understood them when it last read the schema: a column that is computed, an
/// expression in an index, a partial one stand in it. Nothing where SQLite could not tell.
std::optional<Objects> understood(Connection& connection, const Objects& named) {
  Objects objects;
  for (const auto& [name, definition_of_it] : named) {
    Statement row(connection,
                  "SELECT (SELECT group_concat(quote(name) || quote(type) || \"notnull\" || "
                  "quote(dflt_value) || pk || hidden) FROM pragma_table_xinfo(?1)), "
                  "(SELECT group_concat(quote(name) || \"unique\" || origin || partial) "
                  "FROM pragma_index_list(?1)), "
                  "(SELECT group_concat(cid || \"desc\" || quote(coll) || key) "
                  "FROM pragma_index_xinfo(?1))",
                  name);
    if (row.next() != true) return std::nullopt;
    auto& text = objects[name];
    for (int column = 0; column < 3; ++column) text.append(row.text(column)).append(";");
  }
  return objects;
}

struct OwnSchema {
  Objects defined;
  Objects understood_as;
};

OwnSchema make_own_schema() {
  auto memory = Connection::open(":memory:", Connection::Mode::read_write);
  const bool made = memory && create_schema(*memory) &&
                    create_table(*memory, LaterTable::kernels) &&
                    create_table(*memory, LaterTable::signatures);
  auto defined = made ? objects_of(*memory) : std::nullopt;
  auto understood_as = defined ? understood(*memory, *defined) : std::nullopt;
  if (!understood_as) return {};
  return {std::move(*defined), std::move(*understood_as)};
}

/// Whether it is of a table that not every file has, as objects_of() defines them.
bool is_of_later_table(std::string_view definition_of_it) {
  return definition_of_it.find(" of kernels: ") != std::string_view::npos ||
         definition_of_it.find(" of signatures: ") != std::string_view::npos;
}

/// What this version of kiln makes with this version of SQLite. Never destroyed: another thread may be
/// verifying while the process exits.
const OwnSchema& own_schema() {
  static const auto& schema =
      *new const OwnSchema(make_own_schema());  // NOLINT(cppcoreguidelines-owning-memory)
  return schema;
}

/// Whether it is as SQLite has understood kiln's own. Of what the file does not have, SQLite has understood nothing.
bool is_understood_as_own(const std::string& name, const std::string& understood_as) {
  const auto& own = own_schema().understood_as;
  const auto at = own.find(name);
  return at != own.end() && (at->second == understood_as || understood_as == ";;;");
}

/// What SQLite takes for its planner's figures. kiln asks for none.
bool is_of_planner(const std::string& name) {
  constexpr std::string_view prefix = "sqlite_stat";
  return sqlite3_strnicmp(name.c_str(), prefix.data(), static_cast<int>(prefix.size())) == 0;
}

/// Whether SQLite takes this for the name of a table or index of kiln's: it does not tell capitals apart.
bool is_own_name(const std::string& name) {
  return std::ranges::any_of(own_schema().defined, [&](const auto& own) {
    return sqlite3_stricmp(own.first.c_str(), name.c_str()) == 0;
  });
}

}  // namespace

Content look_into(Connection& connection) {
  if (connection.keeps_a_log()) return Content::write_ahead;
  const auto pages = connection.integer("PRAGMA page_count");
  if (!pages) return is_corrupt(connection.last_code()) ? Content::corrupt : Content::unreadable;
  if (*pages == 0) return Content::none;
  const auto id = connection.integer("PRAGMA application_id");
  const auto version = connection.integer("PRAGMA user_version");
  if (!id || !version) {
    return is_corrupt(connection.last_code()) ? Content::corrupt : Content::unreadable;
  }
  if (*id != application_id) return Content::foreign;
  if (*version != schema_version) return Content::other_schema;
  return connection.execute(settings) == SQLITE_OK ? Content::current : Content::unreadable;
}

bool create_schema(Connection& connection) { return connection.execute(definition) == SQLITE_OK; }

std::optional<bool> has_table(Connection& connection, LaterTable table) {
  const auto& [name, statement] = definition_of(table);
  return connection.has_row(
      "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ? AND sql = ?", name, statement);
}

bool create_table(Connection& connection, LaterTable table) {
  const auto& [name, statement] = definition_of(table);
  const auto taken = connection.has_row("SELECT 1 FROM sqlite_schema WHERE name = ?", name);
  if (taken != false) return taken.has_value();
  return connection.run(statement);
}

std::optional<std::vector<SchemaFault>> schema_faults(Connection& connection) {
  const auto found = objects_of(connection);
  if (!found) return std::nullopt;
  std::vector<SchemaFault> faults;
  for (const auto& [name, definition_of_it] : own_schema().defined) {
    const auto it = found->find(name);
    if (it == found->end()) {
      if (is_of_later_table(definition_of_it)) continue;
      faults.push_back({name, "is missing"});
    } else if (it->second != definition_of_it) {
      faults.push_back({name, "is defined otherwise than kiln does"});
    }
  }
  return faults;
}

std::optional<std::vector<SchemaFault>> foreign_objects(Connection& connection) {
  auto faults = schema_faults(connection);
  const auto found = objects_of(connection);
  const auto unlike_tables = connection.integer(
      "SELECT count(*) FROM sqlite_schema WHERE type NOT IN ('table', 'index') OR "
      "typeof(type) <> 'text' OR typeof(tbl_name) <> 'text' OR typeof(rootpage) <> 'integer' OR "
      "rootpage < 1");
  if (!faults || !found || !unlike_tables) return std::nullopt;
  if (*unlike_tables != 0)
    faults->push_back({"its schema", "has views, triggers or virtual tables"});
  for (const auto& [name, definition_of_it] : *found) {
    if (own_schema().defined.contains(name)) continue;
    if (!definition_of_it.starts_with("table of ") || is_own_name(name) || is_of_planner(name))
      faults->push_back({name, "is none of kiln's"});
  }
  // Who rewrites the file meanwhile may have shown SQLite another schema than this statement.
  const auto understood_as = understood(connection, own_schema().defined);
  if (!understood_as) return std::nullopt;
  for (const auto& [name, text] : *understood_as) {
    if (!is_understood_as_own(name, text))
      faults->push_back({name, "is read otherwise than kiln does"});
  }
  return faults;
}

bool is_corrupt(int code) noexcept {
  const int primary = code & 0xff;
  return primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB;
}

}  // namespace kiln::storage
