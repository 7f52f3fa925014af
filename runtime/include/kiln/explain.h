#pragma once

// kiln/explain.h: whether a compile would hit, and if not, how the nearest entry differs.
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

/// One difference between a request and a stored entry.
struct Difference {
  enum class Field {
    program,            ///< The program's name.
    source,             ///< Its text.
    engine,             ///< RuntimeOptions::engine.
    option,             ///< One option, or the order of all.
    expression,         ///< A name expression.
    arch,               ///< The architecture.
    image,              ///< The image kind.
    toolchain,          ///< The compiler.
    header,             ///< A header's content, or whether it is there.
    path,               ///< A header's path, which reached the output.
    working_directory,  ///< Of the compile, where it reached the output.
    entry,              ///< The entry itself, which is damaged or was refused.
  };
  Field field;
  std::string text;  ///< In words, e.g. "option 3: -DHEAD_DIM=64, stored 128".

  bool operator==(const Difference&) const = default;
};

/// "program", "source", … Static lifetime.
[[nodiscard]] const char* to_string(Difference::Field field) noexcept;

/// The stored entry that is most like the request.
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

/// What a compile of a program for a target would find now. A value.
struct Explanation {
  std::string program;
  std::string variant;  ///< The one for this target; empty where the program has none.
  std::string arch;     ///< The device's, where "native" was asked for.
  std::string kind;
  Digest request;  ///< Entries are looked up by it: the key without headers and compiler.

  bool hit = false;
  Origin origin = Origin::compiled;  ///< The layer that would serve it; `compiled` on a miss.
  Digest key;                        ///< The key of that entry; empty() on a miss.
  std::string remark;  ///< About a hit, e.g. that headers are not here and are trusted.

  std::string reason;  ///< Why it would miss, in one line; empty on a hit.
  /// Set on a miss, where a store holds an entry of the same source or of the same program name.
  std::optional<NearestEntry> nearest;

  /// Why no cache could keep the result of a compile, e.g. for `__TIME__`; empty where one could.
  std::string not_stored;

  /// All of it in one line of bounded length. A miss comes with it in the modes warn and cache-only.
  [[nodiscard]] std::string summary() const;
};

}  // namespace kiln
