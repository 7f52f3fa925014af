#include "entry_writer.h"

#include <chrono>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "artifact_codec.h"
#include "entry_reader.h"
#include "witness_codec.h"

namespace kiln::storage {
namespace {

std::int64_t seconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

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
  for (const Text& text : texts) {
    auto prepared_text = prepare(text, encoder);
    if (!prepared_text) return tl::unexpected(prepared_text.error());
    prepared.texts.push_back(std::move(*prepared_text));
  }
  return prepared;
}

bool EntryWriter::write(const NewEntry& entry, const PreparedEntry& prepared) {
  for (const PreparedText& text : prepared.texts) {
    if (!write_text(text)) return false;
  }
  if (entry.dependencies == DependencySet()) return write_row(entry, prepared, std::nullopt);
  const auto dependencies = write_dependencies(prepared);
  if (!dependencies) return false;
  if (entry.witness && !write_witness(*entry.witness, *dependencies, prepared.witness_frame)) {
    return false;
  }
  return write_row(entry, prepared, dependencies);
}

bool EntryWriter::write_text(const PreparedText& text) {
  Statement row(connection_,
                "INSERT OR IGNORE INTO texts(digest, raw_bytes, frame) VALUES(?, ?, ?)");
  return row.bind_blob(1, text.digest.view())
      .bind_integer(2, static_cast<std::int64_t>(text.raw_bytes))
      .bind_blob(3, text.frame)
      .run();
}

/// The row of this set. A damaged one is mended, since every entry that shares it would be lost.
std::optional<std::int64_t> EntryWriter::write_dependencies(const PreparedEntry& prepared) {
  std::optional<std::int64_t> id;
  {
    Statement row(connection_, "SELECT id, frame FROM dependency_sets WHERE digest = ?");
    const int code = row.bind_blob(1, prepared.dependencies.view()).step();
    if (code != SQLITE_ROW && code != SQLITE_DONE) return std::nullopt;
    if (code == SQLITE_ROW) {
      id = row.integer(0);
      const auto stored = decoder_.decode(row.blob(1), dependencies_owner());
      if (stored == prepared.dependencies_material) return id;
    }
  }
  if (id) {
    Statement row(connection_, "UPDATE dependency_sets SET frame = ? WHERE id = ?");
    row.bind_blob(1, prepared.dependencies_frame).bind_integer(2, *id);
    return row.run() ? id : std::nullopt;
  }
  Statement row(connection_, "INSERT INTO dependency_sets(digest, frame) VALUES(?, ?)");
  row.bind_blob(1, prepared.dependencies.view()).bind_blob(2, prepared.dependencies_frame);
  return row.run() ? std::optional(connection_.last_inserted()) : std::nullopt;
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

bool EntryWriter::write_row(const NewEntry& entry, const PreparedEntry& prepared,
                            std::optional<std::int64_t> dependencies) {
  Statement row(connection_,
                "INSERT OR REPLACE INTO entries(key, request, toolchain, source, image_bytes, "
                "kernels, compile_us, created, arch, kind, toolchain_text, program, material, "
                "payload, dependencies) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
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
  return row.run();
}

}  // namespace kiln::storage
