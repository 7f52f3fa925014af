#include "rows/verifier.h"

#include <array>
#include <limits>

#include <fmt/format.h>

#include "file/schema.h"
#include "rows/kernel_list.h"

namespace kiln::storage {
namespace {

/// How long a step reads, for a writer waits as long, and how much it copies.
constexpr std::chrono::milliseconds longest_read{20};
constexpr std::size_t most_copied = std::size_t{16} << 20;

/// SQLite checks a file only in one piece; it takes some 50 ms for one of this size.
constexpr std::int64_t largest_whole_file = std::int64_t{64} << 20;

/// Tells of each row that an index leads to whether it is there and holds what the index says. The parameter is the
/// number of the index's rows to leave out, because no value tells a place in a damaged index.
struct IndexWalk {
  std::string_view index;
  std::string_view sql;
};
// Of tables that not every file has.
constexpr std::string_view kernels_index = "kernels by key";
constexpr std::string_view signatures_index = "signatures by key and signer";

#define KILN_ROWS_BEHIND(table, index, column)                                                  \
  "SELECT t.id IS NOT NULL AND t." column " IS i." column " FROM " table " i INDEXED BY " index \
  " LEFT JOIN " table " t NOT INDEXED ON t.id = i.id LIMIT -1 OFFSET ?"
constexpr std::array index_walks{
    IndexWalk{"entries by key", KILN_ROWS_BEHIND("entries", "sqlite_autoindex_entries_1", "key")},
    IndexWalk{"entries_by_request", KILN_ROWS_BEHIND("entries", "entries_by_request", "request")},
    IndexWalk{"entries_by_source", KILN_ROWS_BEHIND("entries", "entries_by_source", "source")},
    IndexWalk{"entries_by_dependencies",
              KILN_ROWS_BEHIND("entries", "entries_by_dependencies", "dependencies")},
    IndexWalk{"texts by digest", KILN_ROWS_BEHIND("texts", "sqlite_autoindex_texts_1", "digest")},
    IndexWalk{"dependency_sets by digest",
              KILN_ROWS_BEHIND("dependency_sets", "sqlite_autoindex_dependency_sets_1", "digest")},
    IndexWalk{"witnesses by dependencies and roots",
              "SELECT t.id IS NOT NULL AND (t.dependencies, t.roots) IS (i.dependencies, i.roots) "
              "FROM witnesses i INDEXED BY sqlite_autoindex_witnesses_1 "
              "LEFT JOIN witnesses t NOT INDEXED ON t.id = i.id LIMIT -1 OFFSET ?"},
    IndexWalk{"set_texts_by_text",
              "SELECT t.text IS NOT NULL FROM set_texts i INDEXED BY set_texts_by_text "
              "LEFT JOIN set_texts t INDEXED BY sqlite_autoindex_set_texts_1 "
              "ON t.dependencies = i.dependencies AND t.text = i.text LIMIT -1 OFFSET ?"},
    IndexWalk{"marks_by_use",
              "SELECT t.entry IS NOT NULL AND (t.pinned, t.used) IS (i.pinned, i.used) "
              "FROM marks i INDEXED BY marks_by_use "
              "LEFT JOIN marks t NOT INDEXED ON t.entry = i.entry LIMIT -1 OFFSET ?"},
    IndexWalk{kernels_index, KILN_ROWS_BEHIND("kernels", "sqlite_autoindex_kernels_1", "key")},
    IndexWalk{signatures_index,
              "SELECT t.id IS NOT NULL AND (t.key, t.signer) IS (i.key, i.signer) "
              "FROM signatures i INDEXED BY sqlite_autoindex_signatures_1 "
              "LEFT JOIN signatures t NOT INDEXED ON t.id = i.id LIMIT -1 OFFSET ?"},
};

}  // namespace

Verifier::Progress Verifier::read(Connection& connection) {
  static constexpr std::array<Stage, 12> stages{
      &Verifier::check_pages,     &Verifier::check_schema,  &Verifier::check_indexes,
      &Verifier::check_entries,   &Verifier::check_texts,   &Verifier::check_sets,
      &Verifier::check_witnesses, &Verifier::check_kernels, &Verifier::check_signatures,
      &Verifier::check_links,     &Verifier::check_marks,   &Verifier::check_state};
  until_ = std::chrono::steady_clock::now() + longest_read;
  const Snapshot snapshot(connection);
  const Progress progress =
      snapshot ? (this->*stages[stage_])(connection) : stopped(connection, "a transaction");
  if (progress != Progress::done) return progress;
  position_ = std::numeric_limits<std::int64_t>::min();
  passed_ = 0;
  return ++stage_ < stages.size() ? Progress::more : Progress::done;
}

void Verifier::examine() {
  for (const auto& work : copied_) work();
  copied_.clear();
  copied_bytes_ = 0;
}

void Verifier::examine_later(std::size_t bytes, std::function<void()> work) {
  copied_bytes_ += bytes;
  copied_.push_back(std::move(work));
}

void Verifier::add_unmet(Statement& row, int first, std::string_view what, const std::string& name,
                         std::initializer_list<std::string_view> problems) {
  for (const std::string_view problem : problems) {
    if (row.integer(first++) == 0) add(what, name, std::string(problem));
  }
}

void Verifier::add(std::string_view what, std::string name, std::string problem) {
  report_.findings.push_back({std::string(what), std::move(name), std::move(problem)});
}

Verifier::Progress Verifier::stopped(Connection& connection, std::string_view where) {
  const int code = connection.last_code();
  // SQLITE_ERROR is a table or an index that is not there.
  if (!is_corrupt(code) && (code & 0xff) != SQLITE_ERROR) {
    failure_ = connection.failure("verifying").value();
    return Progress::failed;
  }
  add("structure", subject_.file,
      connection.failure(fmt::format("reading {}", where)).value().message);
  return Progress::done;
}

Verifier::Progress Verifier::walk(Connection& connection, std::string_view where, Statement& row,
                                  const std::function<void()>& look) {
  auto there = row.next();
  for (; there == true; there = row.next()) {
    look();
    if (copied_bytes_ >= most_copied || std::chrono::steady_clock::now() >= until_) {
      return Progress::more;
    }
  }
  return there ? Progress::done : stopped(connection, where);
}

Verifier::Progress Verifier::walk_ids(Connection& connection, std::string_view where,
                                      std::string_view sql,
                                      const std::function<void(Statement&)>& look) {
  Statement row(connection, sql, position_);
  bool ascending = true;
  const Progress progress = walk(connection, where, row, [&] {
    ascending = ascending && row.integer(0) > position_;
    if (!ascending) return;
    position_ = row.integer(0);
    look(row);
  });
  if (ascending) return progress;
  add("structure", subject_.file, fmt::format("the rows of {} are out of order", where));
  return Progress::done;
}

Verifier::Progress Verifier::walk_counting(Connection& connection, std::string_view where,
                                           std::string_view sql,
                                           const std::function<void(Statement&)>& look) {
  Statement row(connection, sql, passed_);
  return walk(connection, where, row, [&] {
    ++passed_;
    look(row);
  });
}

Verifier::Progress Verifier::check_pages(Connection& connection) {
  const auto pages = connection.integer("PRAGMA page_count");
  const auto page_bytes = connection.integer("PRAGMA page_size");
  if (!pages || !page_bytes) return stopped(connection, "the header");
  if (!subject_.bundle && *pages > largest_whole_file / *page_bytes) return Progress::done;
  Statement row(connection, "PRAGMA integrity_check");
  const bool read = row.for_each([&] {
    if (row.text(0) != "ok") add("structure", subject_.file, std::string(row.text(0)));
  });
  return read ? Progress::done : stopped(connection, "its pages");
}

Verifier::Progress Verifier::check_schema(Connection& connection) {
  const auto faults = schema_faults(connection);
  if (!faults) return stopped(connection, "the schema");
  for (const auto& fault : *faults) add("structure", fault.name, fault.problem);
  const auto kernels = has_table(connection, LaterTable::kernels);
  const auto signatures = has_table(connection, LaterTable::signatures);
  if (!kernels || !signatures) return stopped(connection, "the schema");
  has_kernels_ = *kernels;
  has_signatures_ = *signatures;
  return Progress::done;
}

Verifier::Progress Verifier::check_indexes(Connection& connection) {
  const auto& [index, sql] = index_walks[index_];
  const bool is_there =
      (index != kernels_index || has_kernels_) && (index != signatures_index || has_signatures_);
  if (is_there) {
    const auto progress = walk_counting(connection, index, sql, [&](auto& row) {
      if (row.integer(0) != 0) return;
      add("structure", std::string(index_walks[index_].index),
          fmt::format("leads to a row that is not there ({})", passed_));
    });
    if (progress != Progress::done) return progress;
  }
  passed_ = 0;
  return ++index_ < index_walks.size() ? Progress::more : Progress::done;
}

}  // namespace kiln::storage
