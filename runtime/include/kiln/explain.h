#pragma once

// kiln/explain.h: would it hit; if not, in what does the nearest entry differ.
//
//     const kiln::Explanation why = runtime.explain(program, target).value();
//     if (!why.hit && why.nearest)
//       for (const auto& difference : why.nearest->differences) std::puts(difference.text.c_str());

#include <optional>
#include <string>
#include <vector>

#include "kiln/artifact.h"
#include "kiln/digest.h"
#include "kiln/export.h"

namespace KILN_EXPORT kiln {

/// One thing in which what is asked for differs from a stored entry.
struct Difference {
  enum class Field {
    program,            ///< The program's name.
    source,             ///< Its text.
    option,             ///< One option, or the order of all.
    expression,         ///< A name expression.
    arch,               ///< The architecture.
    image,              ///< The image kind.
    toolchain,          ///< The compiler.
    header,             ///< A header's content, or whether it is there.
    path,               ///< Where a header lies, since that reached the output.
    working_directory,  ///< Since it reached the output.
    entry,              ///< The entry itself, which is damaged or was refused.
  };
  Field field;
  std::string text;  ///< In words, e.g. "option 3: -DHEAD_DIM=64, stored 128".

  bool operator==(const Difference&) const = default;
};

/// "program", "source", … Static lifetime.
[[nodiscard]] const char* to_string(Difference::Field field) noexcept;

/// The stored entry that is most like what was asked for.
struct NearestEntry {
  Digest key;
  std::string program;
  std::string arch;
  std::string kind;
  std::string toolchain;          ///< For people, e.g. "NVRTC 13.0".
  Origin origin = Origin::local;  ///< `local` or `bundle`.
  std::string file;  ///< Of the cache or bundle that holds it; empty for a bundle in memory.
  std::vector<Difference> differences;  ///< At least one; the weightier kinds first.
};

/// What would become of a compile that was asked for now. A value.
struct Explanation {
  std::string program;
  std::string variant;  ///< Of the program, for this target; empty where it has none.
  std::string arch;     ///< Of the device, where "native" was asked for.
  std::string kind;
  Digest request;  ///< What entries are looked up by: the key without headers and compiler.

  bool hit = false;
  Origin origin = Origin::compiled;  ///< Of the layer that would serve it; `compiled` on a miss.
  Digest key;                        ///< Of the entry that would be served; empty() on a miss.
  std::string remark;  ///< About a hit, e.g. that headers are not here and are trusted.

  std::string reason;  ///< Of a miss, in one line; empty on a hit.
  /// On a miss, where a store holds an entry of the same source or the same program name.
  std::optional<NearestEntry> nearest;

  /// Why the result of a compile could not be kept by any cache, such as `__TIME__`; empty where it
  /// could.
  std::string not_stored;

  /// All of it in one line of bounded length, as it goes with a miss in the modes warn and cache-only.
  [[nodiscard]] std::string summary() const;
};

}  // namespace kiln
