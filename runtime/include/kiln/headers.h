#pragma once

// kiln/headers.h: headers that a program brings along in memory, instead of reading them from disk.
//
//     const auto own = kiln::HeaderSet::from_texts({{"engine/by.cuh", "constexpr float by = 0.5f;"}});
//     const auto program = kiln::Program::make({.name = "scale.cu",
//                                               .source = "#include <cstdint>\n#include <engine/by.cuh>\n",
//                                               .headers = {own, kiln::standard_headers()}}).value();

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/digest.h"
#include "kiln/export.h"

namespace KILN_EXPORT kiln {

/// The texts of many headers, one after the other in one zstd frame, in a program's constant data. For
/// generated code, with static lifetime. Decompressed once, when somebody first reads a text, and kept until
/// the process ends. Safe to use from any thread.
class PackedTexts {
 public:
  /// REQUIRES: a whole frame of `size` bytes.
  constexpr PackedTexts(const std::byte* frame, std::size_t frame_size, std::size_t size) noexcept
      : frame_(frame), frame_size_(frame_size), size_(size) {}

  /// All of them. Throws std::bad_alloc.
  [[nodiscard]] std::string_view texts() const;

 private:
  const std::byte* frame_;
  std::size_t frame_size_;
  std::size_t size_;
  mutable std::once_flag once_;
  mutable const char* texts_ = nullptr;  ///< Never freed: other threads may read while statics go.
};

/// One embedded header: the spelling it is included by, its text, and the text's digest. Refers to the text.
class EmbeddedHeader {
 public:
  constexpr EmbeddedHeader(std::string_view header_name, std::string_view text,
                           const Digest& text_digest) noexcept
      : name(header_name), digest(text_digest), plain_(text) {}

  /// The text is `size` bytes of the packed texts, from `offset` on.
  constexpr EmbeddedHeader(std::string_view header_name, const PackedTexts& packed,
                           std::size_t offset, std::size_t size, const Digest& text_digest) noexcept
      : name(header_name), digest(text_digest), packed_(&packed), offset_(offset), size_(size) {}

  std::string_view name;
  Digest digest;

  /// Valid as long as the header's set. Reading the first text of a packed set takes milliseconds.
  [[nodiscard]] std::string_view text() const {
    return packed_ == nullptr ? plain_ : packed_->texts().substr(offset_, size_);
  }

 private:
  std::string_view plain_;
  const PackedTexts* packed_ = nullptr;
  std::size_t offset_ = 0;
  std::size_t size_ = 0;
};

/// Headers that the host program holds in memory instead of reading them from disk. An immutable value, cheap
/// to copy; the texts live as long as any copy. Made by kiln_embed_headers() (CMake) at build time, or by
/// from_texts() at run time.
class HeaderSet {
 public:
  HeaderSet() = default;

  /// Refers to a table with static lifetime, and copies nothing. For generated code.
  /// REQUIRES: sorted by name, no name twice.
  [[nodiscard]] static HeaderSet from_static(std::span<const EmbeddedHeader> headers);

  struct NamedText {
    std::string name;  ///< As it is included, e.g. "engine/vec.cuh".
    std::string text;
  };

  /// Copies the texts and computes their digests. Of two headers of one name the first counts.
  [[nodiscard]] static HeaderSet from_texts(std::vector<NamedText> texts);

  struct SharedText {
    std::string name;
    std::shared_ptr<const std::string> text;  ///< REQUIRES: not null.
  };

  /// The same without copying. A text may be in many sets, and lives as long as any copy of them.
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

/// Headers of the C++ standard library that NVRTC does not bring, such as `<cstdint>` and `<type_traits>`,
/// for kernels that include them. Each forwards to libcu++ where the compile finds that, on disk or embedded;
/// else it is a small header of kiln's own. Optional: list them in ProgramSpec::headers, where an earlier set
/// may replace one of them. device/README.md lists them.
[[nodiscard]] const HeaderSet& standard_headers();

}  // namespace kiln
