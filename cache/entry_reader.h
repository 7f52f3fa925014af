#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "frame.h"
#include "kiln/artifact.h"
#include "kiln/digest.h"
#include "kiln/request.h"
#include "sqlite.h"

namespace kiln::storage {

/// The columns that a statement must give first for an EntryReader to read its rows.
enum EntryColumn : int {
  key_column,
  toolchain_column,
  dependencies_column,
  material_column,
  payload_column,
  first_other_column,
};

enum class RowState {
  sound,
  damaged,     ///< What is stored is not what was written.
  unreadable,  ///< SQLite could not read it: nothing is known of it.
};

/// What an entry's row says it is, checked: the key is the digest of the rest.
struct EntryIdentity {
  Digest key;
  Digest request;
  Digest toolchain;
  std::optional<std::int64_t> dependencies_id;  ///< None for an entry without dependencies.
  Digest dependencies_digest;
  DependencySet dependencies;
};

/// Takes entries apart and trusts nothing in them. Borrows what it is made from.
class EntryReader {
 public:
  EntryReader(Connection& connection, FrameDecoder& decoder) noexcept
      : connection_(connection), decoder_(decoder) {}

  /// Reads all but the payload. `request` is the digest of the row's material.
  [[nodiscard]] RowState identify(Statement& row, const Digest& request, EntryIdentity& identity);

  /// The stamps kept for these include directories; nothing where there are none that fit.
  [[nodiscard]] std::optional<Witness> witness(const EntryIdentity& identity, const Digest& roots);

  /// The payload, joined with what the request says; nothing for a damaged one.
  [[nodiscard]] std::optional<Artifact> artifact(Statement& row, const EntryIdentity& identity,
                                                 const Request& request);

 private:
  RowState read_dependencies(EntryIdentity& identity);

  Connection& connection_;
  FrameDecoder& decoder_;
};

/// How a row's request material relates to the one asked for.
enum class MaterialMatch {
  same,
  another,  ///< Sound, and of the same digest by accident.
  damaged,
};
[[nodiscard]] MaterialMatch match_material(std::string_view stored, std::string_view asked,
                                           const Digest& request) noexcept;

/// Who owns the frames of these rows.
[[nodiscard]] FrameOwner payload_owner(const Digest& key, const Digest& request) noexcept;
[[nodiscard]] FrameOwner text_owner(const Digest& text) noexcept;
[[nodiscard]] FrameOwner dependencies_owner() noexcept;
[[nodiscard]] FrameOwner witness_owner(const Digest& dependencies, const Digest& roots) noexcept;

}  // namespace kiln::storage
