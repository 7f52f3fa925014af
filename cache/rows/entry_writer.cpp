#include "rows/entry_writer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "file/wall_clock.h"
#include "record/artifact_codec.h"
#include "record/witness_codec.h"
#include "rows/kernel_list.h"
#include "rows/signature_list.h"
#include "signing/signature.h"

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

/// Fills the columns that only repeat what the records say: listings read them, and the search for the entries that
/// need a text.
void fill_columns(PreparedEntry& prepared, const Request& request,
                  const DependencySet& dependencies, const Artifact& artifact) {
  prepared.source = request.source;
  prepared.program = request.program;
  prepared.arch = request.arch;
  prepared.kind = request.kind;
  prepared.image_bytes = artifact.image.size();
  prepared.kernels = artifact.kernels.size();
  prepared.compile_us = artifact.compile_us;
  prepared.created = seconds_since_1970();
  prepared.headers = headers_of(dependencies);
}

std::string kernels_record(const Artifact& artifact, const std::vector<KernelCode>& code) {
  std::vector<ListedKernel> kernels;
  kernels.reserve(code.size());
  for (std::size_t at = 0; at < code.size(); ++at)
    kernels.push_back({artifact.kernels[at], code[at]});
  return encode_kernels(kernels);
}

HashOfText hashes_of(const std::vector<Text>& texts) {
  return [&texts](const Digest& digest) {
    const auto at = std::ranges::find(texts, digest, &Text::digest);
    return at != texts.end() ? std::optional(hash_of(at->bytes)) : std::nullopt;
  };
}

}  // namespace

std::vector<Digest> headers_of(const DependencySet& dependencies) {
  std::vector<Digest> headers;
  for (const Dependency& lookup : dependencies.lookups) {
    if (!lookup.content.empty()) headers.push_back(lookup.content);
  }
  std::sort(headers.begin(), headers.end());
  headers.erase(std::unique(headers.begin(), headers.end()), headers.end());
  return headers;
}

Result<PreparedEntry> prepare(const NewEntry& entry, const std::vector<Text>& texts, Images images,
                              const SigningKey& key) {
  FrameEncoder encoder;
  PreparedEntry prepared;
  const std::string dependencies = entry.dependencies.material();
  prepared.material = entry.request.material();
  prepared.request = digest_of(prepared.material);
  prepared.dependencies = digest_of(dependencies);
  prepared.toolchain = entry.toolchain.identity;
  prepared.toolchain_text = entry.toolchain.text;
  prepared.key = key_of(prepared.request, prepared.dependencies, prepared.toolchain);
  fill_columns(prepared, entry.request, entry.dependencies, entry.artifact);

  const std::string record = encode_artifact(entry.artifact);
  if (record.size() > max_raw_bytes || dependencies.size() > max_raw_bytes) {
    return fail(ErrorCode::io_failed,
                fmt::format("'{}' for {} is too large for the cache: {} bytes",
                            entry.request.program, entry.request.arch, record.size()));
  }
  const auto owner = payload_owner(prepared.key, prepared.request);
  prepared.payload = images == Images::plain ? FrameEncoder::encode_plain(record, owner)
                                             : encoder.encode(record, owner);
  if (entry.code != nullptr) {
    prepared.kernels_frame =
        encoder.encode(kernels_record(entry.artifact, *entry.code), kernels_owner(prepared.key));
  }
  if (!key.empty()) {
    const auto contents = contents_of({.request_record = prepared.material,
                                       .request = entry.request,
                                       .dependencies_record = dependencies,
                                       .dependencies = entry.dependencies,
                                       .toolchain = entry.toolchain,
                                       .artifact_record = record,
                                       .artifact = entry.artifact,
                                       .kernels_frame = prepared.kernels_frame});
    if (auto claim = claim_of(contents, hashes_of(entry.texts)))
      prepared.signatures = {sign(std::move(*claim), key)};
  }
  if (entry.dependencies != DependencySet()) {
    prepared.dependencies_frame = encoder.encode(dependencies, dependencies_owner());
  }
  if (entry.witness && entry.dependencies != DependencySet()) {
    prepared.roots = entry.witness->roots;
    prepared.witness_frame = encoder.encode(encode_stamps(entry.witness->stamps),
                                            witness_owner(prepared.dependencies, prepared.roots));
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

std::optional<PreparedEntry> prepare_again(RawEntry row, const MayDecode& may_decode,
                                           Contents* contents) {
  const auto request = Request::from_material(row.material);
  const auto identity = identify(row, digest_of(row.material), may_decode);
  PreparedEntry prepared;
  prepared.payload = row.payload.view();
  std::string record;
  const MayDecode keep_record = [&](RecordKind kind, std::string_view read) {
    if (contents != nullptr) record = read;
    return !may_decode || may_decode(kind, read);
  };
  const auto artifact =
      request && identity ? artifact_of(row, *identity, *request, keep_record) : std::nullopt;
  if (!artifact) return std::nullopt;
  if (contents != nullptr) {
    *contents = contents_of({.request_record = row.material,
                             .request = *request,
                             .dependencies_record = identity->dependencies_record,
                             .dependencies = identity->dependencies,
                             .toolchain = identity->toolchain,
                             .artifact_record = record,
                             .artifact = *artifact,
                             .kernels_frame = row.kernels_frame});
  }
  prepared.key = identity->key;
  prepared.request = identity->request;
  prepared.toolchain = identity->toolchain.identity;
  prepared.toolchain_text = artifact->toolchain;
  prepared.dependencies = identity->dependencies_digest;
  fill_columns(prepared, *request, identity->dependencies, *artifact);
  prepared.material = std::move(row.material);
  prepared.signatures = std::move(row.signatures);
  if (kernels_of(row.kernels_frame, prepared.key))
    prepared.kernels_frame = std::move(row.kernels_frame);
  if (identity->dependencies != DependencySet()) {
    prepared.dependencies_frame = std::move(row.dependencies_frame);
  }
  return prepared;
}

std::optional<PreparedText> prepare_again(const Digest& digest, std::string_view frame) {
  const auto text = text_of(frame, digest);
  return text ? std::optional(PreparedText{digest, text->size(), std::string(frame)})
              : std::nullopt;
}

std::optional<bool> has_text(Connection& connection, const Digest& digest) {
  return connection.has_row("SELECT 1 FROM texts WHERE digest = ?", digest);
}

std::optional<bool> has_sound_text(Connection& connection, const Digest& digest) {
  Statement row(connection, "SELECT frame FROM texts WHERE digest = ?", digest);
  const auto stored = row.next();
  if (stored != true) return stored;
  return FrameDecoder::sound_size(row.blob(0), text_owner(digest)).has_value();
}

std::uint64_t PreparedEntry::bytes() const noexcept {
  std::uint64_t sum = material.size() + payload.size() + dependencies_frame.size() +
                      witness_frame.size() + kernels_frame.size();
  for (const auto& signature : signatures) sum += signature.size();
  for (const PreparedText& text : texts) sum += text.frame.size();
  return sum;
}

bool EntryWriter::write_texts(const std::vector<PreparedText>& texts) {
  return std::all_of(texts.begin(), texts.end(),
                     [&](const PreparedText& text) { return write_text(text); });
}

std::optional<std::int64_t> EntryWriter::write(const PreparedEntry& entry) {
  if (!entry.kernels_frame.empty() && !write_kernels(connection_, entry.key, entry.kernels_frame)) {
    return std::nullopt;
  }
  if (!write_signatures(connection_, entry.key, entry.signatures)) return std::nullopt;
  if (entry.dependencies_frame.empty()) return write_row(entry, std::nullopt);
  const auto dependencies = write_dependencies(entry);
  if (!dependencies) return std::nullopt;
  if (!entry.witness_frame.empty() && !write_witness(entry, *dependencies)) return std::nullopt;
  return write_row(entry, dependencies);
}

/// A row of this digest may be there: a damaged one, or one that another process has brought meanwhile.
bool EntryWriter::write_text(const PreparedText& text) {
  return connection_.run(
      "INSERT INTO texts(digest, raw_bytes, frame) VALUES(?, ?, ?) "
      "ON CONFLICT(digest) DO UPDATE SET raw_bytes = excluded.raw_bytes, "
      "frame = excluded.frame",
      text.digest, text.raw_bytes, Blob{text.frame});
}

/// Gives the row of this set. Mends a damaged one, or every entry that shares it would be lost.
std::optional<std::int64_t> EntryWriter::write_dependencies(const PreparedEntry& entry) {
  std::optional<std::int64_t> id;
  bool sound = false;
  {
    Statement row(connection_, "SELECT id, frame FROM dependency_sets WHERE digest = ?",
                  entry.dependencies);
    const auto there = row.next();
    if (!there) return std::nullopt;
    if (*there) {
      id = row.integer(0);
      const auto stored = decode_frame(row.blob(1), dependencies_owner());
      sound = stored && digest_of(*stored) == entry.dependencies;
    }
  }
  const Blob frame{entry.dependencies_frame};
  if (!id) {
    if (!connection_.run("INSERT INTO dependency_sets(digest, frame) VALUES(?, ?)",
                         entry.dependencies, frame)) {
      return std::nullopt;
    }
    id = connection_.last_inserted();
  } else if (!sound &&
             !connection_.run("UPDATE dependency_sets SET frame = ? WHERE id = ?", frame, *id)) {
    return std::nullopt;
  }
  return link_texts(entry.headers, *id) ? id : std::nullopt;
}

/// Writes down which texts a set needs, so that a text can go when the last set that needs it goes.
bool EntryWriter::link_texts(const std::vector<Digest>& headers, std::int64_t dependencies) {
  // Most sets are complete; an entry that came without its texts may have left one that is not.
  const auto links =
      connection_.integer("SELECT count(*) FROM set_texts WHERE dependencies = ?", dependencies);
  if (!links) return false;
  if (*links == static_cast<std::int64_t>(headers.size())) return true;
  return std::all_of(headers.begin(), headers.end(), [&](const Digest& header) {
    return connection_.run(
        "INSERT OR IGNORE INTO set_texts(dependencies, text) "
        "SELECT ?, id FROM texts WHERE digest = ?",
        dependencies, header);
  });
}

bool EntryWriter::write_witness(const PreparedEntry& entry, std::int64_t dependencies) {
  return connection_.run(
      "INSERT OR REPLACE INTO witnesses(dependencies, roots, frame) VALUES(?, ?, ?)", dependencies,
      entry.roots, Blob{entry.witness_frame});
}

/// An entry of the same key keeps its id, and with it its mark.
std::optional<std::int64_t> EntryWriter::write_row(const PreparedEntry& entry,
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
      "dependencies = excluded.dependencies RETURNING id",
      entry.key, entry.request, entry.toolchain, entry.source, entry.image_bytes, entry.kernels,
      entry.compile_us, entry.created, entry.arch, entry.kind, entry.toolchain_text, entry.program,
      Blob{entry.material}, Blob{entry.payload}, dependencies);
  if (row.next() != true) return std::nullopt;
  const std::int64_t id = row.integer(0);
  return row.run() ? std::optional(id) : std::nullopt;
}

}  // namespace kiln::storage
