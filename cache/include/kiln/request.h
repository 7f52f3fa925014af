#pragma once

// kiln/request.h: what an entry is looked up by, and the headers that it depends on.
//
//     kiln::Request request;
//     request.program = "scale.cu";
//     request.arch = "sm_90a";
//     assert(kiln::Request::from_material(request.material()) == request);

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
  bool standard_headers = false;              ///< Whether kiln::standard_headers() were offered.
  std::string engine = {};  ///< Whose entry it is, RuntimeOptions::engine; empty for everybody's.

  bool operator==(const Request&) const = default;

  [[nodiscard]] std::string material() const;
  [[nodiscard]] static std::optional<Request> from_material(std::string_view material);
};

/// One header look-up that the program makes, and what it found when the entry was made.
///
/// A parent stands before its children; replaying look-ups against other include directories tells whether an
/// entry still holds.
struct Dependency {
  static constexpr std::uint32_t no_parent = 0xffffffff;
  static constexpr std::uint32_t source_parent = 0xfffffffe;
  static constexpr std::uint32_t at_place = 0xfffffffd;
  static constexpr std::uint32_t no_other = 0xffffffff;

  /// What of a header reached the compiler.
  enum class Reach : std::uint8_t {
    file,      ///< Its text, and which file it is.
    text,      ///< Its text; another file of this text would have done.
    presence,  ///< That it is there: `__has_include` asked for it, and nobody read it.
  };

  /// As written between the quotes or angle brackets. With `at_place` one path that the compiler asked for:
  /// absolute; or "2/lib/x.h", below the third of those include directories that hold any such place; or
  /// "-/lib/x.h", which none of the others holds.
  std::string spelling = {};
  /// Beside which file a quoted include is looked for first: that of an earlier look-up, by its
  /// position, or the program's source. An include in angle brackets has no parent.
  std::uint32_t parent = no_parent;
  bool beside = false;  ///< It was found there, and not in an include directory.
  bool tested = false;  ///< `__has_include` asks for it, so that a compile goes on without it.
  Reach reach = Reach::file;  ///< What has to be as it was.
  /// It is quoted in a header, but no directive names it: an embedded header does not find its neighbour so.
  bool as_spelled = false;
  Digest content = {};  ///< Of the header's text; empty() when nothing was found.
  /// The file's absolute path or the embedded header's name, only where it reaches the output.
  std::string path = {};
  /// The first look-up, by its position, that found the same path, and the first that found the same file
  /// (they differ where one is a link): `#pragma once` and the neighbours of a header go by these.
  std::uint32_t same_path = no_other;
  std::uint32_t same_file = no_other;
  std::int64_t modified_ns = 0;  ///< The file's time, only where it reaches the output.

  bool operator==(const Dependency&) const = default;

  /// Whether a text was found and reached the compiler.
  [[nodiscard]] bool is_read() const noexcept {
    return !content.empty() && reach != Reach::presence;
  }
};

/// All look-ups of a program. Interned in the cache: many entries share one.
struct DependencySet {
  std::vector<Dependency> lookups = {};
  std::string working_directory =
      {};  ///< Only where it reaches the output, or was searched; else empty.
  /// Where look-ups are `at_place`: in how many of the include directories any of these places is.
  std::uint32_t directories = 0;
  /// Of the names of all embedded headers, only where nobody can tell which of them were asked for.
  Digest embedded_names = {};

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
