#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "record/artifact_codec.h"
#include "record/frame.h"
#include "record/signature_codec.h"
#include "record/witness_codec.h"
#include "rows/entry_reader.h"
#include "rows/entry_writer.h"
#include "rows/kernel_list.h"
#include "rows/verifier.h"

namespace kiln::storage {
namespace {

// One statement for each table. Its last columns are the row's conditions, 0 where one does not hold; add_unmet() gets
// the problems in the same order.

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

constexpr std::string_view kernels_rows =
    "SELECT id, key, frame, (SELECT request FROM entries WHERE key = t.key), "
    "(SELECT payload FROM entries WHERE key = t.key), "
    KILN_LEADS_TO_ROW("kernels", "sqlite_autoindex_kernels_1", "key") ", "
    "EXISTS(SELECT 1 FROM entries WHERE key = t.key) "
    "FROM kernels t NOT INDEXED WHERE id > ? ORDER BY id";

constexpr std::string_view signature_rows =
    "SELECT id, key, signer, record, EXISTS(SELECT 1 FROM signatures i INDEXED BY "
    "sqlite_autoindex_signatures_1 WHERE i.key = t.key AND i.signer = t.signer AND i.id = t.id), "
    "EXISTS(SELECT 1 FROM entries WHERE key = t.key) "
    "FROM signatures t NOT INDEXED WHERE id > ? ORDER BY id";

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

}  // namespace

/// An entry's row, copied.
struct Verifier::EntryRow {
  std::string name;
  std::optional<Digest> key;
  std::optional<Digest> request;
  std::optional<Digest> toolchain;
  std::optional<Digest> source;
  std::optional<Digest> dependencies;  ///< Nothing where the row of its set is missing.
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

struct Verifier::KernelsRow {
  Digest key;
  std::string frame;
  std::optional<Digest> request;  ///< Of its entry.
  std::string payload;            ///< Likewise; empty where nobody compares them.
};

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
  entry.dependencies = row.is_null(13) ? digest_of_no_dependencies() : row.digest(14);
  if (row.integer(15) == 0) ++report_.texts_left_out;
  if (!subject_.bundle && row.integer(16) == 0) {
    add("entry", entry.name, "it has no use mark, and so is never evicted");
  }
  add_unmet(row, 17, "entry", entry.name,
            {"a size or a time is no number that it could be", "it cannot be found by its key",
             "it cannot be found by its request", "it cannot be found by its source",
             "it cannot be found by its dependency set"});
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
  auto record = decode_image(ImageBuffer(row.payload), row.image_bytes, owner);
  const bool sound = record.has_value();
  const auto artifact = sound ? decode_artifact(*std::move(record)) : std::nullopt;
  if (!artifact) {
    add("entry", row.name,
        sound ? "its payload cannot be decoded" : "its payload fails its checksum");
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
  add_unmet(row, 5, "text", name,
            {"it cannot be found by its digest", "it belongs to no entry; kiln gc removes it"});
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
  if (!text_of(frame, digest)) {
    add("text", digest.hex(), "its content is not the one of its digest");
  }
}

Verifier::Progress Verifier::check_sets(Connection& connection) {
  return walk_ids(connection, "dependency_sets", set_rows,
                  [&](Statement& row) { read_set(connection, row); });
}

/// Decodes the set within the read: it is small, many entries share it, and it tells which texts it needs.
void Verifier::read_set(Connection& connection, Statement& row) {
  ++report_.dependency_sets;
  const auto digest = row.digest(1);
  const std::string name = name_of(digest, "dependency_sets", row.integer(0));
  add_unmet(row, 3, "dependency set", name,
            {"it cannot be found by its digest", "it belongs to no entry; kiln gc removes it"});
  const auto material = decode_frame(row.blob(2), dependencies_owner());
  const auto set = material ? DependencySet::from_material(*material) : std::nullopt;
  if (!set) {
    add("dependency set", name, material ? "it cannot be decoded" : "it fails its checksum");
    return;
  }
  if (digest != digest_of(*material)) {
    add("dependency set", name, "its content is not the one of its digest");
  }
  check_texts_of(connection, row.integer(0), name, *set);
}

void Verifier::check_texts_of(Connection& connection, std::int64_t set, const std::string& name,
                              const DependencySet& dependencies) {
  std::int64_t kept_headers = 0;
  for (const Digest& header : headers_of(dependencies)) {
    const auto kept = connection.has_row(
        "SELECT 1 FROM set_texts JOIN texts ON texts.id = set_texts.text "
        "WHERE dependencies = ? AND digest = ?",
        set, header);
    // Who was only asked for may be left behind by an import: nobody signs for its text. And what came without a text keeps
    // none that another brought later.
    const auto was_read = [&](const Dependency& lookup) {
      return lookup.content == header && lookup.is_read();
    };
    if (kept == false && std::ranges::any_of(dependencies.lookups, was_read))
      ++report_.texts_left_out;
    if (kept == true) ++kept_headers;
  }
  const auto links = connection.integer(
      "SELECT count(*) FROM set_texts JOIN texts ON texts.id = set_texts.text "
      "WHERE dependencies = ?",
      set);
  if (links.value_or(0) > kept_headers) {
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
    add_unmet(row, 5, "witness", name, {"it cannot be found by its dependency set and roots"});
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
  const auto record = decode_frame(row.frame, owner);
  const auto stamps = record ? decode_stamps(*record) : std::nullopt;
  const auto material = decode_frame(row.dependencies_frame, dependencies_owner());
  const auto set = material ? DependencySet::from_material(*material) : std::nullopt;
  // A damaged set is a finding of its own.
  if (!stamps || (set && stamps->size() != set->lookups.size())) {
    add("witness", row.name, "it does not fit its dependency set");
  }
}

Verifier::Progress Verifier::check_kernels(Connection& connection) {
  if (!has_kernels_) return Progress::done;
  return walk_ids(connection, "kernels", kernels_rows, [&](Statement& row) {
    const auto key = row.digest(1);
    const std::string name = name_of(key, "kernels", row.integer(0));
    if (!key) add("kernels", name, "their key is no digest");
    add_unmet(
        row, 5, "kernels", name,
        {"they cannot be found by their key", "they belong to no entry; kiln gc removes them"});
    if (!key) return;
    KernelsRow kernels{*key, std::string(row.blob(2)), row.digest(3),
                       subject_.deep ? std::string(row.blob(4)) : std::string()};
    const std::size_t bytes = kernels.frame.size() + kernels.payload.size();
    examine_later(bytes, [this, kernels = std::move(kernels)] { examine_kernels(kernels); });
  });
}

void Verifier::examine_kernels(const KernelsRow& row) {
  const auto listed = kernels_of(row.frame, row.key);
  if (!listed) {
    add("kernels", row.key.hex(), "they fail their checksum or cannot be decoded");
    return;
  }
  if (!subject_.deep || !row.request) return;
  auto record = decode_image(ImageBuffer(row.payload), 0, payload_owner(row.key, *row.request));
  const auto artifact = record ? decode_artifact(*std::move(record)) : std::nullopt;
  // A damaged entry is a finding of its own.
  if (artifact && !std::ranges::equal(*listed, artifact->kernels, {}, &ListedKernel::info)) {
    add("kernels", row.key.hex(), "they are not those of its entry");
  }
}

// Whether a signature is right, only a key tells: Cache::verify_signatures().
Verifier::Progress Verifier::check_signatures(Connection& connection) {
  if (!has_signatures_) return Progress::done;
  return walk_ids(connection, "signatures", signature_rows, [&](Statement& row) {
    const auto key = row.digest(1);
    const std::string name = name_of(key, "signatures", row.integer(0));
    if (!key) add("signature", name, "its key is no digest");
    add_unmet(row, 4, "signature", name,
              {"it cannot be found by its key", "it belongs to no entry; kiln gc removes it"});
    const auto signature = decode_signature(row.blob(3));
    const auto claim = signature ? decode_claim(signature->claim) : std::nullopt;
    if (!claim || claim->signer != row.text(2))
      add("signature", name, "it cannot be decoded, or is another signer's");
  });
}

Verifier::Progress Verifier::check_links(Connection& connection) {
  return walk_counting(connection, "set_texts", link_rows, [&](Statement& row) {
    const auto name = fmt::format("of set row {} to text row {}", row.integer(0), row.integer(1));
    add_unmet(row, 2, "link", name,
              {"it belongs to no set; kiln gc removes it", "it leads to no text",
               "it cannot be found by its text"});
  });
}

Verifier::Progress Verifier::check_marks(Connection& connection) {
  return walk_ids(connection, "marks", mark_rows, [&](Statement& row) {
    add_unmet(row, 1, "mark", row_name("marks", row.integer(0)),
              {"it belongs to no entry; kiln gc removes it", "its last use is none that can be",
               "it is neither pinned nor not pinned", "it cannot be found by its use"});
  });
}

Verifier::Progress Verifier::check_state(Connection& connection) {
  return walk_counting(connection, "state", state_rows, [&](Statement& row) {
    add_unmet(row, 1, "state", std::string(row.text(0)), {"it is no number that it could be"});
  });
}

}  // namespace kiln::storage
