#include "rows/entry_reader.h"

#include <utility>

#include "record/artifact_codec.h"
#include "record/witness_codec.h"
#include "system/thread_value.h"

namespace kiln::storage {
namespace {

/// The frame that the statement gives, if there is one. False where SQLite could not read.
bool read_frame(Statement row, std::string& frame) {
  const auto there = row.next();
  if (there == true) frame = row.blob(0);
  return there.has_value();
}

bool read_dependencies(Connection& connection, RawEntry& entry, const Digest* roots) {
  const std::int64_t id = *entry.dependencies_id;
  return read_frame({connection, "SELECT frame FROM dependency_sets WHERE id = ?", id},
                    entry.dependencies_frame) &&
         (roots == nullptr ||
          read_frame(
              {connection, "SELECT frame FROM witnesses WHERE dependencies = ? AND roots = ?", id,
               *roots},
              entry.witness_frame));
}

const std::string& record_of_no_dependencies() {
  // Never destroyed: other threads may read while the process exits.
  static const auto& record = *new const std::string(
      DependencySet().material());  // NOLINT(cppcoreguidelines-owning-memory)
  return record;
}

bool may(const MayDecode& may_decode, RecordKind kind, std::string_view record) {
  return !may_decode || may_decode(kind, record);
}

template <class Work>
auto with_decoder(const Work& work) {
  if (auto* const decoder = system::ThreadValue<FrameDecoder>::get()) return work(*decoder);
  FrameDecoder decoder;
  return work(decoder);
}

}  // namespace

std::optional<RawEntry> read_row(Connection& connection, Statement& row, const Digest* roots) {
  RawEntry entry{.id = row.integer(0), .key = row.digest(1), .toolchain = row.digest(2)};
  entry.compile_us = row.count(4);
  entry.material = row.blob(5);
  entry.toolchain_text = row.text(7);
  entry.image_bytes = row.count(8);
  entry.payload = ImageBuffer::copy_of(row.blob(6), entry.image_bytes);
  if (row.is_null(3)) return entry;
  entry.dependencies_id = row.integer(3);
  if (!read_dependencies(connection, entry, roots)) return std::nullopt;
  return entry;
}

RecordSizes sizes_of(const RawEntry& row) {
  RecordSizes sizes;
  if (!row.key) return sizes;
  sizes.dependencies = row.dependencies_id
                           ? FrameDecoder::sound_size(row.dependencies_frame, dependencies_owner())
                           : record_of_no_dependencies().size();
  sizes.artifact = FrameDecoder::sound_size(row.payload.view(),
                                            payload_owner(*row.key, digest_of(row.material)));
  return sizes;
}

std::optional<EntryIdentity> identify(const RawEntry& row, const Digest& request,
                                      const MayDecode& may_decode) {
  if (!row.key || !row.toolchain) return std::nullopt;
  EntryIdentity identity{*row.key, request, {*row.toolchain, row.toolchain_text}, {}, {}, {}};
  if (row.dependencies_id) {
    auto record = decode_frame(row.dependencies_frame, dependencies_owner());
    if (!record || !may(may_decode, RecordKind::dependencies, *record)) return std::nullopt;
    auto set = DependencySet::from_material(*record);
    if (!set) return std::nullopt;
    identity.dependencies_digest = digest_of(*record);
    identity.dependencies_record = std::move(*record);
    identity.dependencies = std::move(*set);
  } else {
    identity.dependencies_digest = digest_of_no_dependencies();
    identity.dependencies_record = record_of_no_dependencies();
    if (!may(may_decode, RecordKind::dependencies, identity.dependencies_record))
      return std::nullopt;
  }
  const Digest key_of_parts =
      key_of(request, identity.dependencies_digest, identity.toolchain.identity);
  if (identity.key != key_of_parts) return std::nullopt;
  return identity;
}

std::optional<Witness> witness_of(const RawEntry& row, const EntryIdentity& identity,
                                  const Digest& roots) {
  if (row.witness_frame.empty()) return std::nullopt;
  const auto record =
      decode_frame(row.witness_frame, witness_owner(identity.dependencies_digest, roots));
  if (!record) return std::nullopt;
  auto stamps = decode_stamps(*record);
  if (!stamps || stamps->size() != identity.dependencies.lookups.size()) return std::nullopt;
  return Witness{roots, std::move(*stamps)};
}

std::optional<Artifact> artifact_of(RawEntry& row, const EntryIdentity& identity,
                                    const Request& request, const MayDecode& may_decode) {
  auto record = decode_image(std::move(row.payload), row.image_bytes,
                             payload_owner(identity.key, identity.request));
  if (!record || !may(may_decode, RecordKind::artifact, record->view())) return std::nullopt;
  auto artifact = decode_artifact(std::move(*record));
  if (!artifact) return std::nullopt;
  artifact->key = identity.key;
  artifact->program = request.program;
  artifact->arch = request.arch;
  artifact->kind = request.kind;
  artifact->compile_us = row.compile_us;
  return artifact;
}

std::optional<std::string> text_of(std::string_view frame, const Digest& digest) {
  auto text = decode_frame(frame, text_owner(digest));
  return text && digest_of(*text) == digest ? std::move(text) : std::nullopt;
}

const Digest& digest_of_no_dependencies() {
  static const Digest of_none = digest_of(record_of_no_dependencies());
  return of_none;
}

std::optional<std::string> decode_frame(std::string_view frame, const FrameOwner& owner) {
  return with_decoder([&](FrameDecoder& decoder) { return decoder.decode(frame, owner); });
}

std::optional<ImageBuffer> decode_image(ImageBuffer frame, std::size_t image_size,
                                        const FrameOwner& owner) {
  return with_decoder([&](FrameDecoder& decoder) {
    return decoder.decode_image(std::move(frame), image_size, owner);
  });
}

MaterialMatch match_material(std::string_view stored, std::string_view asked,
                             const Digest& request) noexcept {
  if (stored == asked) return MaterialMatch::same;
  return digest_of(stored) == request ? MaterialMatch::another : MaterialMatch::damaged;
}

FrameOwner payload_owner(const Digest& key, const Digest& request) noexcept {
  return {FrameOwner::Table::entries, key, request};
}

FrameOwner text_owner(const Digest& text) noexcept { return {FrameOwner::Table::texts, text}; }

// The row's digest column is not part of the owner: the entry's key tells whether a set is the right one, whichever row
// or column was damaged.
FrameOwner dependencies_owner() noexcept { return {FrameOwner::Table::dependency_sets}; }

FrameOwner witness_owner(const Digest& dependencies, const Digest& roots) noexcept {
  return {FrameOwner::Table::witnesses, dependencies, roots};
}

}  // namespace kiln::storage
