#include "entry_writer.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "artifact_codec.h"
#include "entry_reader.h"
#include "wall_clock.h"
#include "witness_codec.h"

namespace kiln::storage {
namespace {

Result<PreparedText> prepare(const Text& text, FrameEncoder& encoder) {
  if (digest_of(text.bytes) != text.digest) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("a text given to the cache is not the one of digest {}; it was changed "
                            "after it was digested",
                            text.digest.hex()));
  }
  if (text.bytes.size() > max_raw_bytes) {
    return fail(ErrorCode::io_failed,
                fmt::format("the text {} is too large for the cache: {} bytes", text.digest.hex(),
                            text.bytes.size()));
  }
  return PreparedText{text.digest, text.bytes.size(),
                      encoder.encode(text.bytes, text_owner(text.digest))};
}

}  // namespace

Result<PreparedEntry> prepare(const NewEntry& entry, const std::vector<Text>& texts) {
  FrameEncoder encoder;
  PreparedEntry prepared;
  prepared.material = entry.request.material();
  prepared.request = digest_of(prepared.material);
  prepared.dependencies_material = entry.dependencies.material();
  prepared.dependencies = digest_of(prepared.dependencies_material);
  prepared.key = key_of(prepared.request, prepared.dependencies, entry.toolchain.identity);

  const std::string record = encode_artifact(entry.artifact);
  if (record.size() > max_raw_bytes || prepared.dependencies_material.size() > max_raw_bytes) {
    return fail(ErrorCode::io_failed,
                fmt::format("'{}' for {} is too large for the cache: {} bytes",
                            entry.request.program, entry.request.arch, record.size()));
  }
  prepared.payload = encoder.encode(record, payload_owner(prepared.key, prepared.request));
  prepared.dependencies_frame =
      encoder.encode(prepared.dependencies_material, dependencies_owner());
  if (entry.witness) {
    prepared.witness_frame =
        encoder.encode(encode_stamps(entry.witness->stamps),
                       witness_owner(prepared.dependencies, entry.witness->roots));
  }
  auto prepared_texts = prepare_texts(texts);
  if (!prepared_texts) return tl::unexpected(prepared_texts.error());
  prepared.texts = std::move(*prepared_texts);
  return prepared;
}

Result<std::vector<PreparedText>> prepare_texts(const std::vector<Text>& texts) {
  FrameEncoder encoder;
  std::vector<PreparedText> prepared;
  for (const Text& text : texts) {
    auto one = prepare(text, encoder);
    if (!one) return tl::unexpected(one.error());
    prepared.push_back(std::move(*one));
  }
  return prepared;
}

std::uint64_t PreparedEntry::bytes() const noexcept {
  std::uint64_t sum =
      material.size() + payload.size() + dependencies_frame.size() + witness_frame.size();
  for (const PreparedText& text : texts) sum += text.frame.size();
  return sum;
}

bool EntryWriter::write_texts(const std::vector<PreparedText>& texts) {
  return std::all_of(texts.begin(), texts.end(),
                     [&](const PreparedText& text) { return write_text(text); });
}

std::optional<std::int64_t> EntryWriter::write(const NewEntry& entry,
                                               const PreparedEntry& prepared) {
  if (entry.dependencies == DependencySet()) return write_row(entry, prepared, std::nullopt);
  const auto dependencies = write_dependencies(entry, prepared);
  if (!dependencies) return std::nullopt;
  if (entry.witness && !write_witness(*entry.witness, *dependencies, prepared.witness_frame)) {
    return std::nullopt;
  }
  return write_row(entry, prepared, dependencies);
}

/// Mends a damaged one, since every entry that shares it would be lost to whoever wants its source.
bool EntryWriter::write_text(const PreparedText& text) {
  Statement row(connection_,
                "INSERT INTO texts(digest, raw_bytes, frame) VALUES(?, ?, ?) "
                "ON CONFLICT(digest) DO UPDATE SET raw_bytes = excluded.raw_bytes, "
                "frame = excluded.frame");
  return row.bind_blob(1, text.digest.view())
      .bind_integer(2, static_cast<std::int64_t>(text.raw_bytes))
      .bind_blob(3, text.frame)
      .run();
}

/// The row of this set. A damaged one is mended, since every entry that shares it would be lost.
std::optional<std::int64_t> EntryWriter::write_dependencies(const NewEntry& entry,
                                                            const PreparedEntry& prepared) {
  std::optional<std::int64_t> id;
  {
    Statement row(connection_, "SELECT id, frame FROM dependency_sets WHERE digest = ?");
    const int code = row.bind_blob(1, prepared.dependencies.view()).step();
    if (code != SQLITE_ROW && code != SQLITE_DONE) return std::nullopt;
    if (code == SQLITE_ROW) {
      id = row.integer(0);
      const auto stored = thread_decoder().decode(row.blob(1), dependencies_owner());
      if (stored == prepared.dependencies_material) {
        return link_texts(entry.dependencies, *id) ? id : std::nullopt;
      }
    }
  }
  if (id) {
    Statement row(connection_, "UPDATE dependency_sets SET frame = ? WHERE id = ?");
    row.bind_blob(1, prepared.dependencies_frame).bind_integer(2, *id);
    if (!row.run()) return std::nullopt;
  } else {
    Statement row(connection_, "INSERT INTO dependency_sets(digest, frame) VALUES(?, ?)");
    row.bind_blob(1, prepared.dependencies.view()).bind_blob(2, prepared.dependencies_frame);
    if (!row.run()) return std::nullopt;
    id = connection_.last_inserted();
  }
  return link_texts(entry.dependencies, *id) ? id : std::nullopt;
}

/// Which texts a set needs, so that they can go when the last set that needs them goes.
bool EntryWriter::link_texts(const DependencySet& dependencies, std::int64_t id) {
  std::set<Digest> contents;
  for (const Dependency& lookup : dependencies.lookups) {
    if (!lookup.content.empty()) contents.insert(lookup.content);
  }
  {
    // Most sets are complete; one that came without its texts is completed here.
    Statement row(connection_, "SELECT count(*) FROM set_texts WHERE dependencies = ?");
    if (row.bind_integer(1, id).step() != SQLITE_ROW) return false;
    if (row.integer(0) == static_cast<std::int64_t>(contents.size())) return true;
  }
  for (const Digest& content : contents) {
    Statement row(connection_,
                  "INSERT OR IGNORE INTO set_texts(dependencies, text) "
                  "SELECT ?, id FROM texts WHERE digest = ?");
    if (!row.bind_integer(1, id).bind_blob(2, content.view()).run()) return false;
  }
  return true;
}

bool EntryWriter::write_witness(const Witness& witness, std::int64_t dependencies,
                                std::string_view frame) {
  Statement row(connection_,
                "INSERT OR REPLACE INTO witnesses(dependencies, roots, frame) VALUES(?, ?, ?)");
  return row.bind_integer(1, dependencies)
      .bind_blob(2, witness.roots.view())
      .bind_blob(3, frame)
      .run();
}

/// An entry of the same key keeps its id, and with it its mark.
std::optional<std::int64_t> EntryWriter::write_row(const NewEntry& entry,
                                                   const PreparedEntry& prepared,
                                                   std::optional<std::int64_t> dependencies) {
  Statement row(
      connection_,
      "INSERT INTO entries(key, request, toolchain, source, image_bytes, kernels, compile_us, "
      "created, arch, kind, toolchain_text, program, material, payload, dependencies) "
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
      "ON CONFLICT(key) DO UPDATE SET request = excluded.request, "
      "toolchain = excluded.toolchain, source = excluded.source, "
      "image_bytes = excluded.image_bytes, kernels = excluded.kernels, "
      "compile_us = excluded.compile_us, created = excluded.created, arch = excluded.arch, "
      "kind = excluded.kind, toolchain_text = excluded.toolchain_text, "
      "program = excluded.program, material = excluded.material, payload = excluded.payload, "
      "dependencies = excluded.dependencies RETURNING id");
  row.bind_blob(1, prepared.key.view())
      .bind_blob(2, prepared.request.view())
      .bind_blob(3, entry.toolchain.identity.view())
      .bind_blob(4, entry.request.source.view())
      .bind_integer(5, static_cast<std::int64_t>(entry.artifact.image.size()))
      .bind_integer(6, static_cast<std::int64_t>(entry.artifact.kernels.size()))
      .bind_integer(7, static_cast<std::int64_t>(entry.artifact.compile_us))
      .bind_integer(8, seconds_since_1970())
      .bind_text(9, entry.request.arch)
      .bind_text(10, entry.request.kind)
      .bind_text(11, entry.toolchain.text)
      .bind_text(12, entry.request.program)
      .bind_blob(13, prepared.material)
      .bind_blob(14, prepared.payload);
  if (dependencies) row.bind_integer(15, *dependencies);
  if (row.step() != SQLITE_ROW) return std::nullopt;
  const std::int64_t id = row.integer(0);
  return row.step() == SQLITE_DONE ? std::optional(id) : std::nullopt;
}

}  // namespace kiln::storage
