#include "rows/verifier.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "file/schema.h"
#include "record/artifact_codec.h"
#include "record/frame.h"
#include "record/witness_codec.h"
#include "rows/entry_reader.h"

namespace kiln::storage {
namespace {

/// How long a step reads, and how much it copies: a writer waits for as long.
constexpr std::chrono::milliseconds longest_read{20};
constexpr std::size_t most_copied = std::size_t{16} << 20;

/// SQLite looks at a file in one piece only; at one of this size in some 50 ms.
constexpr std::int64_t largest_whole_file = std::int64_t{64} << 20;

/// Whether each row that an index leads to is there and holds what the index says. The parameter is
/// how many of the index's rows to leave out, because a place in a damaged index cannot be told by value.
struct IndexWalk {
  std::string_view index;
  std::string_view sql;
};
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
};

/// Whether an index leads to the row `t` of the table.
#define KILN_LEADS_TO_ROW(table, index, column)                                           \
  "EXISTS(SELECT 1 FROM " table " i INDEXED BY " index " WHERE i." column " IS t." column \
  " AND i.id = t.id)"

constexpr std::string_view entry_rows =
    "SELECT id, key, request, toolchain, source, material, payload, arch, kind, program, "
    "toolchain_text, image_bytes, kernels, dependencies, "
    "(SELECT digest FROM dependency_sets WHERE dependency_sets.id = t.dependencies), "
    "EXISTS(SELECT 1 FROM texts WHERE digest = t.source), "
    "EXISTS(SELECT 1 FROM marks WHERE entry = t.id), "
    "typeof(image_bytes) = 'integer' AND image_bytes >= 0 AND typeof(kernels) = 'integer' AND "
    "kernels >= 0 AND typeof(compile_us) = 'integer' AND compile_us >= 0 AND "
    "typeof(created) = 'integer' AND created >= 0, "
    KILN_LEADS_TO_ROW("entries", "sqlite_autoindex_entries_1", "key") ", "
    KILN_LEADS_TO_ROW("entries", "entries_by_request", "request") ", "
    KILN_LEADS_TO_ROW("entries", "entries_by_source", "source") ", "
    KILN_LEADS_TO_ROW("entries", "entries_by_dependencies", "dependencies")
    " FROM entries t NOT INDEXED WHERE id > ? ORDER BY id";
constexpr std::array entry_indexes{"key", "request", "source", "dependency set"};

constexpr std::string_view text_rows =
    "SELECT id, digest, raw_bytes, frame, typeof(raw_bytes) = 'integer', "
    KILN_LEADS_TO_ROW("texts", "sqlite_autoindex_texts_1", "digest") ", "
    "EXISTS(SELECT 1 FROM set_texts WHERE text = t.id) OR "
    "EXISTS(SELECT 1 FROM entries WHERE source = t.digest) "
    "FROM texts t NOT INDEXED WHERE id > ? ORDER BY id";

constexpr std::string_view set_rows =
    "SELECT id, digest, frame, "
    KILN_LEADS_TO_ROW("dependency_sets", "sqlite_autoindex_dependency_sets_1", "digest") ", "
    "EXISTS(SELECT 1 FROM entries WHERE dependencies = t.id) "
    "FROM dependency_sets t NOT INDEXED WHERE id > ? ORDER BY id";

constexpr std::string_view witness_rows =
    "SELECT id, roots, frame, "
    "(SELECT digest FROM dependency_sets WHERE dependency_sets.id = t.dependencies), "
    "(SELECT frame FROM dependency_sets WHERE dependency_sets.id = t.dependencies), "
    "EXISTS(SELECT 1 FROM witnesses i INDEXED BY sqlite_autoindex_witnesses_1 "
    "WHERE i.dependencies = t.dependencies AND i.roots = t.roots AND i.id = t.id) "
    "FROM witnesses t NOT INDEXED WHERE id > ? ORDER BY id";

constexpr std::string_view link_rows =
    "SELECT dependencies, text, "
    "EXISTS(SELECT 1 FROM dependency_sets WHERE id = t.dependencies), "
    "EXISTS(SELECT 1 FROM texts WHERE id = t.text), "
    "EXISTS(SELECT 1 FROM set_texts i INDEXED BY set_texts_by_text "
    "WHERE i.text = t.text AND i.dependencies = t.dependencies) "
    "FROM set_texts t INDEXED BY sqlite_autoindex_set_texts_1 LIMIT -1 OFFSET ?";

// No entry was used later than the clock says.
constexpr std::string_view mark_rows =
    "SELECT entry, EXISTS(SELECT 1 FROM entries WHERE id = t.entry), "
    "typeof(used) = 'integer' AND used >= 0 AND "
    "used <= ifnull((SELECT value FROM state WHERE name = 'clock'), 0), "
    "typeof(pinned) = 'integer' AND pinned IN (0, 1), "
    "EXISTS(SELECT 1 FROM marks i INDEXED BY marks_by_use "
    "WHERE i.pinned = t.pinned AND i.used = t.used AND i.entry = t.entry) "
    "FROM marks t NOT INDEXED WHERE entry > ? ORDER BY entry";

constexpr std::string_view state_rows =
    "SELECT name, typeof(name) = 'text' AND typeof(value) = 'integer' AND value >= 0 "
    "FROM state LIMIT -1 OFFSET ?";

std::string row_name(std::string_view table, std::int64_t id) {
  return fmt::format("{} row {}", table, id);
}

std::string name_of(const std::optional<Digest>& digest, std::string_view table, std::int64_t id) {
  return digest ? digest->hex() : row_name(table, id);
}

/// Nothing where SQLite could not read.
std::optional<bool> has_row(Statement& row) {
  const int code = row.step();
  if (code != SQLITE_ROW && code != SQLITE_DONE) return std::nullopt;
  return code == SQLITE_ROW;
}

}  // namespace

/// An entry's row, copied.
struct Verifier::EntryRow {
  std::string name;
  std::optional<Digest> key;
  std::optional<Digest> request;
  std::optional<Digest> toolchain;
  std::optional<Digest> source;
  std::optional<Digest> dependencies;  ///< Of none at all for an entry without; nothing if missing.
  std::string material;
  std::string payload;
  std::string arch;
  std::string kind;
  std::string program;
  std::string toolchain_text;
  std::uint64_t image_bytes = 0;
  std::uint64_t kernels = 0;
};

struct Verifier::WitnessRow {
  std::string name;
  Digest roots;
  Digest dependencies;
  std::string frame;
  std::string dependencies_frame;
};

Verifier::Progress Verifier::read(Connection& connection) {
  static constexpr std::array<Stage, 10> stages{
      &Verifier::check_pages,     &Verifier::check_schema, &Verifier::check_indexes,
      &Verifier::check_entries,   &Verifier::check_texts,  &Verifier::check_sets,
      &Verifier::check_witnesses, &Verifier::check_links,  &Verifier::check_marks,
      &Verifier::check_state};
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
  int code = row.step();
  for (; code == SQLITE_ROW; code = row.step()) {
    look();
    if (copied_bytes_ >= most_copied || std::chrono::steady_clock::now() >= until_) {
      return Progress::more;
    }
  }
  return code == SQLITE_DONE ? Progress::done : stopped(connection, where);
}

Verifier::Progress Verifier::walk_ids(Connection& connection, std::string_view where,
                                      std::string_view sql,
                                      const std::function<void(Statement&)>& look) {
  Statement row(connection, sql);
  row.bind_integer(1, position_);
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
  Statement row(connection, sql);
  row.bind_integer(1, passed_);
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
  int code = row.step();
  for (; code == SQLITE_ROW; code = row.step()) {
    if (row.text(0) != "ok") add("structure", subject_.file, std::string(row.text(0)));
  }
  return code == SQLITE_DONE ? Progress::done : stopped(connection, "its pages");
}

Verifier::Progress Verifier::check_schema(Connection& connection) {
  const auto faults = schema_faults(connection);
  if (!faults) return stopped(connection, "the schema");
  for (const auto& fault : *faults) add("structure", fault.name, fault.problem);
  if (!subject_.bundle) return Progress::done;
  const auto texts = connection.integer("SELECT EXISTS(SELECT 1 FROM texts)");
  if (!texts) return stopped(connection, "texts");
  // A bundle may have been made without sources.
  has_texts_ = *texts != 0;
  return Progress::done;
}

Verifier::Progress Verifier::check_indexes(Connection& connection) {
  const std::string_view index = index_walks[index_].index;
  const auto progress = walk_counting(connection, index, index_walks[index_].sql, [&](auto& row) {
    if (row.integer(0) != 0) return;
    add("structure", std::string(index),
        fmt::format("leads to a row that is not there ({})", passed_));
  });
  if (progress != Progress::done) return progress;
  passed_ = 0;
  return ++index_ < index_walks.size() ? Progress::more : Progress::done;
}

Verifier::Progress Verifier::check_entries(Connection& connection) {
  return walk_ids(connection, "entries", entry_rows, [&](Statement& row) { read_entry(row); });
}

void Verifier::read_entry(Statement& row) {
  ++report_.entries;
  EntryRow entry;
  entry.key = row.digest(1);
  entry.name = name_of(entry.key, "entries", row.integer(0));
  entry.request = row.digest(2);
  entry.toolchain = row.digest(3);
  entry.source = row.digest(4);
  entry.material = row.blob(5);
  entry.payload = row.blob(6);
  entry.arch = row.text(7);
  entry.kind = row.text(8);
  entry.program = row.text(9);
  entry.toolchain_text = row.text(10);
  entry.image_bytes = static_cast<std::uint64_t>(row.integer(11));
  entry.kernels = static_cast<std::uint64_t>(row.integer(12));
  static const Digest of_none = digest_of(DependencySet().material());
  entry.dependencies = row.is_null(13) ? of_none : row.digest(14);
  if (has_texts_ && row.integer(15) == 0) add("entry", entry.name, "its source is not kept");
  if (!subject_.bundle && row.integer(16) == 0) {
    add("entry", entry.name, "it has no use mark, and so is never evicted");
  }
  if (row.integer(17) == 0)
    add("entry", entry.name, "a size or a time is no number that it could be");
  for (std::size_t at = 0; at < entry_indexes.size(); ++at) {
    if (row.integer(18 + static_cast<int>(at)) != 0) continue;
    add("entry", entry.name, fmt::format("it cannot be found by its {}", entry_indexes[at]));
  }
  const std::size_t bytes = entry.payload.size() + entry.material.size();
  examine_later(bytes, [this, entry = std::move(entry)] { examine_entry(entry); });
}

void Verifier::examine_entry(const EntryRow& row) {
  const auto require = [&](bool holds, std::string_view problem) {
    if (!holds) add("entry", row.name, std::string(problem));
    return holds;
  };
  const bool has_digests = require(row.key && row.request && row.toolchain && row.source,
                                   "a column that should hold a digest holds something else");
  const auto request = Request::from_material(row.material);
  require(request.has_value(), "its request cannot be decoded");
  require(row.dependencies.has_value(), "its dependency set is missing");
  if (!has_digests) return;
  require(digest_of(row.material) == *row.request, "its request is not the one it is found by");
  if (row.dependencies) {
    require(key_of(*row.request, *row.dependencies, *row.toolchain) == *row.key,
            "its key is not the digest of its parts");
  }
  if (!request) return;
  require(request->source == *row.source, "its source is not that of its request");
  require(request->arch == row.arch && request->kind == row.kind && request->program == row.program,
          "its program, architecture or kind is not that of its request");
  examine_payload(row);
}

void Verifier::examine_payload(const EntryRow& row) {
  const FrameOwner owner = payload_owner(*row.key, *row.request);
  if (!subject_.deep) {
    if (!FrameDecoder::sound_size(row.payload, owner)) {
      add("entry", row.name, "its payload fails its checksum");
    }
    return;
  }
  const auto record = thread_decoder().decode(row.payload, owner);
  const auto artifact = record ? decode_artifact(*record) : std::nullopt;
  if (!artifact) {
    add("entry", row.name,
        record ? "its payload cannot be decoded" : "its payload fails its checksum");
    return;
  }
  if (artifact->image.size() != row.image_bytes || artifact->kernels.size() != row.kernels) {
    add("entry", row.name, "its image or its kernels are not as many as its row says");
  }
  if (artifact->toolchain != row.toolchain_text) {
    add("entry", row.name, "its compiler is not the one that its row names");
  }
}

Verifier::Progress Verifier::check_texts(Connection& connection) {
  return walk_ids(connection, "texts", text_rows, [&](Statement& row) { read_text(row); });
}

void Verifier::read_text(Statement& row) {
  ++report_.texts;
  const auto digest = row.digest(1);
  const std::string name = name_of(digest, "texts", row.integer(0));
  if (row.integer(5) == 0) add("text", name, "it cannot be found by its digest");
  if (row.integer(6) == 0) add("text", name, "it belongs to no entry; kiln gc removes it");
  if (!digest || row.integer(4) == 0) {
    add("text", name, "its digest or its size is something else");
    return;
  }
  examine_later(row.blob(3).size(),
                [this, digest = *digest, raw_bytes = row.integer(2),
                 frame = std::string(row.blob(3))] { examine_text(digest, raw_bytes, frame); });
}

void Verifier::examine_text(const Digest& digest, std::int64_t raw_bytes, std::string_view frame) {
  const auto size = FrameDecoder::sound_size(frame, text_owner(digest));
  if (!size) {
    add("text", digest.hex(), "it fails its checksum");
    return;
  }
  if (static_cast<std::uint64_t>(raw_bytes) != *size) {
    add("text", digest.hex(), "its size is not the one that its row says");
  }
  if (!subject_.deep) return;
  const auto text = thread_decoder().decode(frame, text_owner(digest));
  if (!text || digest_of(*text) != digest) {
    add("text", digest.hex(), "its content is not the one of its digest");
  }
}

Verifier::Progress Verifier::check_sets(Connection& connection) {
  return walk_ids(connection, "dependency_sets", set_rows,
                  [&](Statement& row) { read_set(connection, row); });
}

/// Decodes the set at once: it is small, many entries share it, and it tells which texts it needs.
void Verifier::read_set(Connection& connection, Statement& row) {
  ++report_.dependency_sets;
  const auto digest = row.digest(1);
  const std::string name = name_of(digest, "dependency_sets", row.integer(0));
  if (row.integer(3) == 0) add("dependency set", name, "it cannot be found by its digest");
  if (row.integer(4) == 0) {
    add("dependency set", name, "it belongs to no entry; kiln gc removes it");
  }
  const auto material = thread_decoder().decode(row.blob(2), dependencies_owner());
  const auto set = material ? DependencySet::from_material(*material) : std::nullopt;
  if (!set) {
    add("dependency set", name, material ? "it cannot be decoded" : "it fails its checksum");
    return;
  }
  if (digest != digest_of(*material)) {
    add("dependency set", name, "its content is not the one of its digest");
  }
  if (has_texts_) check_texts_of(connection, row.integer(0), name, *set);
}

void Verifier::check_texts_of(Connection& connection, std::int64_t set, const std::string& name,
                              const DependencySet& dependencies) {
  std::set<Digest> contents;
  for (const auto& lookup : dependencies.lookups) {
    if (!lookup.content.empty()) contents.insert(lookup.content);
  }
  for (const Digest& content : contents) {
    Statement text(connection, "SELECT id FROM texts WHERE digest = ?");
    const auto kept = has_row(text.bind_blob(1, content.view()));
    if (kept == false) {
      add("dependency set", name, fmt::format("its header {} is not kept", content.hex()));
    }
    if (kept != true) continue;
    Statement link(connection, "SELECT 1 FROM set_texts WHERE dependencies = ? AND text = ?");
    if (has_row(link.bind_integer(1, set).bind_integer(2, text.integer(0))) == false) {
      add("link", name, fmt::format("nothing keeps its header {}", content.hex()));
    }
  }
  Statement links(connection,
                  "SELECT count(*) FROM set_texts JOIN texts ON texts.id = set_texts.text "
                  "WHERE dependencies = ?");
  const bool counted = links.bind_integer(1, set).step() == SQLITE_ROW;
  if (counted && links.integer(0) > static_cast<std::int64_t>(contents.size())) {
    add("link", name, "it keeps texts that it does not need");
  }
}

Verifier::Progress Verifier::check_witnesses(Connection& connection) {
  return walk_ids(connection, "witnesses", witness_rows, [&](Statement& row) {
    const auto roots = row.digest(1);
    const auto set = row.digest(3);
    const std::string name =
        set ? fmt::format("of set {}", set->hex()) : row_name("witnesses", row.integer(0));
    if (!set) add("witness", name, "it belongs to no dependency set; kiln gc removes it");
    if (!roots) add("witness", name, "its roots are no digest");
    if (row.integer(5) == 0)
      add("witness", name, "it cannot be found by its dependency set and roots");
    if (!set || !roots) return;
    WitnessRow witness{name, *roots, *set, std::string(row.blob(2)),
                       subject_.deep ? std::string(row.blob(4)) : std::string()};
    const std::size_t bytes = witness.frame.size() + witness.dependencies_frame.size();
    examine_later(bytes, [this, witness = std::move(witness)] { examine_witness(witness); });
  });
}

void Verifier::examine_witness(const WitnessRow& row) {
  const FrameOwner owner = witness_owner(row.dependencies, row.roots);
  if (!FrameDecoder::sound_size(row.frame, owner)) {
    add("witness", row.name, "it fails its checksum");
    return;
  }
  if (!subject_.deep) return;
  const auto record = thread_decoder().decode(row.frame, owner);
  const auto stamps = record ? decode_stamps(*record) : std::nullopt;
  const auto material = thread_decoder().decode(row.dependencies_frame, dependencies_owner());
  const auto set = material ? DependencySet::from_material(*material) : std::nullopt;
  // A damaged set is a finding of its own.
  if (!stamps || (set && stamps->size() != set->lookups.size())) {
    add("witness", row.name, "it does not fit its dependency set");
  }
}

Verifier::Progress Verifier::check_links(Connection& connection) {
  return walk_counting(connection, "set_texts", link_rows, [&](Statement& row) {
    const auto name = fmt::format("of set row {} to text row {}", row.integer(0), row.integer(1));
    if (row.integer(2) == 0) add("link", name, "it belongs to no set; kiln gc removes it");
    if (row.integer(3) == 0) add("link", name, "it leads to no text");
    if (row.integer(4) == 0) add("link", name, "it cannot be found by its text");
  });
}

Verifier::Progress Verifier::check_marks(Connection& connection) {
  return walk_ids(connection, "marks", mark_rows, [&](Statement& row) {
    const auto name = row_name("marks", row.integer(0));
    if (row.integer(1) == 0) add("mark", name, "it belongs to no entry; kiln gc removes it");
    if (row.integer(2) == 0) add("mark", name, "its last use is none that can be");
    if (row.integer(3) == 0) add("mark", name, "it is neither pinned nor not pinned");
    if (row.integer(4) == 0) add("mark", name, "it cannot be found by its use");
  });
}

Verifier::Progress Verifier::check_state(Connection& connection) {
  return walk_counting(connection, "state", state_rows, [&](Statement& row) {
    if (row.integer(1) == 0)
      add("state", std::string(row.text(0)), "it is no number that it could be");
  });
}

}  // namespace kiln::storage
