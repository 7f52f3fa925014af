#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/digest.h"

namespace kiln {

/// One embedded header: the spelling it is included by, its text, and the text's digest.
struct EmbeddedHeader {
  std::string_view name;
  std::string_view text;
  Digest digest;
};

/// Some headers that travel inside the program instead of on its disk. An immutable value, cheap to
/// copy; the texts live as long as any copy. Made by kiln_embed_headers() (CMake) at build time, or
/// by from_texts() at run time.
class HeaderSet {
 public:
  HeaderSet() = default;

  /// A table with static lifetime; nothing is copied. For generated code.
  /// REQUIRES: sorted by name, no name twice.
  [[nodiscard]] static HeaderSet from_static(std::span<const EmbeddedHeader> headers);

  struct NamedText {
    std::string name;  ///< As it is included, e.g. "engine/vec.cuh".
    std::string text;
  };

  /// Copies the texts and computes their digests. A later one of the same name is ignored.
  [[nodiscard]] static HeaderSet from_texts(std::vector<NamedText> texts);

  struct SharedText {
    std::string name;
    std::shared_ptr<const std::string> text;  ///< REQUIRES: not null.
  };

  /// The same without copying: the texts live as long as any copy of the set, and may be in many.
  [[nodiscard]] static HeaderSet from_shared(std::vector<SharedText> texts);

  [[nodiscard]] std::span<const EmbeddedHeader> headers() const noexcept { return headers_; }

  /// The header of exactly this name, or nullptr. Valid as long as any copy of the set.
  [[nodiscard]] const EmbeddedHeader* find(std::string_view name) const noexcept;

 private:
  std::span<const EmbeddedHeader> headers_;
  std::shared_ptr<const void> owner_;
};

/// kiln's own device headers: what a kernel may `#include <kiln/…>`. See device/README.md.
[[nodiscard]] const HeaderSet& device_headers();

/// For kernels that include `<cstdint>`, `<type_traits>` and others of the C++ standard library, which
/// NVRTC does not bring: these names forward to libcu++ where the compile finds it, on disk or embedded,
/// and are small ones of kiln's own where not. Optional: to be listed in ProgramSpec::headers, where an
/// earlier set may replace one of them. See device/README.md for which there are.
[[nodiscard]] const HeaderSet& standard_headers();

}  // namespace kiln
