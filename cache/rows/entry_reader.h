#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "file/sqlite.h"
#include "kiln/artifact.h"
#include "kiln/digest.h"
#include "kiln/request.h"
#include "record/frame.h"
#include "record/image_memory.h"

namespace kiln::storage {

/// The columns that a statement must give first for read_row() to read its rows.
#define KILN_ENTRY_COLUMNS \
  "id, key, toolchain, dependencies, compile_us, material, payload, toolchain_text, image_bytes"
inline constexpr int first_other_column = 9;

/// An entry's row and the rows that it refers to, copied and not looked into yet, so that the rest needs
/// no lock.
struct RawEntry {
  std::int64_t id = 0;
  std::optional<Digest> key;        ///< Nothing where the column holds something else.
  std::optional<Digest> toolchain;  ///< Likewise.
  std::optional<std::int64_t> dependencies_id = {};  ///< None for an entry without dependencies.
  std::uint64_t compile_us = 0;
  std::string material = {};
  ImageBuffer payload = {};
  std::string toolchain_text = {};
  std::uint64_t image_bytes = 0;             ///< As the row says, which nothing protects.
  std::string dependencies_frame = {};       ///< Empty where there is none, or its row is missing.
  std::string witness_frame = {};            ///< Likewise.
  std::string kernels_frame = {};            ///< Likewise. read_row() leaves it alone.
  std::vector<std::string> signatures = {};  ///< read_row() leaves them alone.
};

/// Copies the current row. `roots` picks the witness; nullptr for none.
/// Nothing where SQLite could not read what it refers to; the connection knows why.
[[nodiscard]] std::optional<RawEntry> read_row(Connection& connection, Statement& row,
                                               const Digest* roots);

/// What an entry's row says that it is. It is checked: the key is the digest of the other parts.
struct EntryIdentity {
  Digest key;
  Digest request;
  Toolchain toolchain;  ///< Its text is what the column says, and no part of the key.
  Digest dependencies_digest;
  std::string dependencies_record;  ///< What that is the digest of.
  DependencySet dependencies;
};

// The functions that follow take rows apart and trust nothing in them. They decompress with a context of the calling
// thread.

/// How large its records are, as their sound frames say; nothing for a damaged one. Decompresses nothing.
struct RecordSizes {
  std::optional<std::uint64_t> dependencies;
  std::optional<std::uint64_t> artifact;
};
[[nodiscard]] RecordSizes sizes_of(const RawEntry& row);

enum class RecordKind { dependencies, artifact };

/// Whether a record, decompressed and of the right checksum, may be decoded: for who knows more of it than that (rows/proof.h).
using MayDecode = std::function<bool(RecordKind kind, std::string_view record)>;

/// Checks all but the payload; nothing for a damaged row. `request` is the digest of the row's material.
[[nodiscard]] std::optional<EntryIdentity> identify(const RawEntry& row, const Digest& request,
                                                    const MayDecode& may_decode = {});

/// The stamps kept for these include directories; nothing where there are none that fit.
[[nodiscard]] std::optional<Witness> witness_of(const RawEntry& row, const EntryIdentity& identity,
                                                const Digest& roots);

/// What the payload and the request say; nothing for a damaged payload. Takes the row's payload, which may be large.
[[nodiscard]] std::optional<Artifact> artifact_of(RawEntry& row, const EntryIdentity& identity,
                                                  const Request& request,
                                                  const MayDecode& may_decode = {});

/// The text in this frame; nothing for a damaged one, or one of another digest.
[[nodiscard]] std::optional<std::string> text_of(std::string_view frame, const Digest& digest);

/// Of a DependencySet without look-ups, which is not stored.
[[nodiscard]] const Digest& digest_of_no_dependencies();

/// As FrameDecoder's, with a context that the calling thread keeps.
[[nodiscard]] std::optional<std::string> decode_frame(std::string_view frame,
                                                      const FrameOwner& owner);
[[nodiscard]] std::optional<ImageBuffer> decode_image(ImageBuffer frame, std::size_t image_size,
                                                      const FrameOwner& owner);

/// How a row's request material relates to the one asked for.
enum class MaterialMatch {
  same,
  another,  ///< Sound, and of the same digest by accident.
  damaged,
};
[[nodiscard]] MaterialMatch match_material(std::string_view stored, std::string_view asked,
                                           const Digest& request) noexcept;

/// The owners of these rows' frames.
[[nodiscard]] FrameOwner payload_owner(const Digest& key, const Digest& request) noexcept;
[[nodiscard]] FrameOwner text_owner(const Digest& text) noexcept;
[[nodiscard]] FrameOwner dependencies_owner() noexcept;
[[nodiscard]] FrameOwner witness_owner(const Digest& dependencies, const Digest& roots) noexcept;

}  // namespace kiln::storage
