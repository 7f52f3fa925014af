#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/digest.h"
#include "kiln/export.h"

namespace KILN_EXPORT kiln {

/// What was asked for, apart from what the headers held and which compiler there was: the first of
/// the two steps in which an entry is looked up.
///
/// `material()` is the canonical form (tagged, length-delimited fields, see cache/README.md); it is
/// stored with each entry and compared on each hit, so that two requests of one digest do not mix.
struct Request {
  std::string program = {};  ///< The program's name.
  Digest source = {};        ///< Of the source text.
  std::uint64_t source_bytes = 0;
  std::vector<std::string> options = {};      ///< As the compiler gets them, in order.
  std::vector<std::string> expressions = {};  ///< Sorted and distinct.
  std::string arch = {};                      ///< "sm_90a", "compute_90", …
  std::string kind = {};                      ///< "cubin", "ptx", "ltoir", "optixir", "fatbin".

  bool operator==(const Request&) const = default;

  [[nodiscard]] std::string material() const;
  [[nodiscard]] static std::optional<Request> from_material(std::string_view material);
};

/// One header look-up that the program makes, and what it found when the entry was made.
///
/// Look-ups stand in the order in which the program first makes them, so a parent stands before its
/// children; replaying them against other include directories tells whether an entry still holds.
struct Dependency {
  static constexpr std::uint32_t no_parent = 0xffffffff;
  static constexpr std::uint32_t source_parent = 0xfffffffe;

  std::string spelling = {};  ///< As written between the quotes or angle brackets.
  /// Beside which file a quoted include is looked for first: that of an earlier look-up, by its
  /// position, or the program's source. An include in angle brackets has no parent.
  std::uint32_t parent = no_parent;
  Digest content = {};  ///< Of the header's text; empty() when nothing was found.
  /// The file's absolute path or the embedded header's name, only where it reaches the output.
  std::string path = {};

  bool operator==(const Dependency&) const = default;
};

/// All look-ups of a program. Interned in the cache: many entries share one.
struct DependencySet {
  std::vector<Dependency> lookups = {};
  std::string working_directory = {};  ///< Only where it reaches the output; else empty.

  bool operator==(const DependencySet&) const = default;

  [[nodiscard]] std::string material() const;
  [[nodiscard]] static std::optional<DependencySet> from_material(std::string_view material);
};

/// What a file looked like when its content was known to be the recorded one, so that an unchanged
/// file needs no reading. All zero where there is no such knowledge.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;  ///< The inode's change time: moves even when the mtime is put back.

  bool operator==(const FileStamp&) const = default;
};

/// One stamp per look-up of a DependencySet, for one list of include directories. A hint: absent,
/// stale or damaged, it costs reading the headers again and nothing else.
struct Witness {
  Digest roots = {};  ///< Of the include directories' paths.
  std::vector<FileStamp> stamps = {};
};

/// Which compiler made an entry: the identity is key material, the text is for people.
struct Toolchain {
  Digest identity = {};   ///< Of the build-ids of the compiler's libraries.
  std::string text = {};  ///< E.g. "NVRTC 13.0".
};

/// The key: the request, its dependency set and the toolchain.
[[nodiscard]] Digest key_of(const Digest& request, const Digest& dependencies,
                            const Digest& toolchain) noexcept;

}  // namespace kiln
