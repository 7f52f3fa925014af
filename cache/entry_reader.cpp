#include "entry_reader.h"

#include <utility>

#include "artifact_codec.h"
#include "witness_codec.h"

namespace kiln::storage {

RowState EntryReader::identify(Statement& row, const Digest& request, EntryIdentity& identity) {
  const auto key = row.digest(key_column);
  const auto toolchain = row.digest(toolchain_column);
  if (!key || !toolchain) return RowState::damaged;
  identity.key = *key;
  identity.request = request;
  identity.toolchain = *toolchain;
  if (!row.is_null(dependencies_column)) {
    identity.dependencies_id = row.integer(dependencies_column);
  }
  const RowState state = read_dependencies(identity);
  if (state != RowState::sound) return state;
  const Digest key_of_parts = key_of(request, identity.dependencies_digest, identity.toolchain);
  return identity.key == key_of_parts ? RowState::sound : RowState::damaged;
}

RowState EntryReader::read_dependencies(EntryIdentity& identity) {
  if (!identity.dependencies_id) {
    identity.dependencies_digest = digest_of(DependencySet().material());
    return RowState::sound;
  }
  Statement row(connection_, "SELECT frame FROM dependency_sets WHERE id = ?");
  const int code = row.bind_integer(1, *identity.dependencies_id).step();
  if (code == SQLITE_DONE) return RowState::damaged;
  if (code != SQLITE_ROW) return RowState::unreadable;
  const auto material = decoder_.decode(row.blob(0), dependencies_owner());
  if (!material) return RowState::damaged;
  auto set = DependencySet::from_material(*material);
  if (!set) return RowState::damaged;
  identity.dependencies_digest = digest_of(*material);
  identity.dependencies = std::move(*set);
  return RowState::sound;
}

std::optional<Witness> EntryReader::witness(const EntryIdentity& identity, const Digest& roots) {
  if (!identity.dependencies_id) return std::nullopt;
  Statement row(connection_, "SELECT frame FROM witnesses WHERE dependencies = ? AND roots = ?");
  row.bind_integer(1, *identity.dependencies_id).bind_blob(2, roots.view());
  if (row.step() != SQLITE_ROW) return std::nullopt;
  const auto record =
      decoder_.decode(row.blob(0), witness_owner(identity.dependencies_digest, roots));
  if (!record) return std::nullopt;
  auto stamps = decode_stamps(*record);
  if (!stamps || stamps->size() != identity.dependencies.lookups.size()) return std::nullopt;
  return Witness{roots, std::move(*stamps)};
}

std::optional<Artifact> EntryReader::artifact(Statement& row, const EntryIdentity& identity,
                                              const Request& request) {
  auto record =
      decoder_.decode(row.blob(payload_column), payload_owner(identity.key, identity.request));
  if (!record) return std::nullopt;
  auto artifact = decode_artifact(std::move(*record));
  if (!artifact) return std::nullopt;
  artifact->key = identity.key;
  artifact->program = request.program;
  artifact->arch = request.arch;
  artifact->kind = request.kind;
  artifact->origin = Origin::local;
  return artifact;
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

// Its row's digest column is not part of it, because the entry's key tells whether a set is the right
// one, whichever row or column was damaged.
FrameOwner dependencies_owner() noexcept { return {FrameOwner::Table::dependency_sets}; }

FrameOwner witness_owner(const Digest& dependencies, const Digest& roots) noexcept {
  return {FrameOwner::Table::witnesses, dependencies, roots};
}

}  // namespace kiln::storage
