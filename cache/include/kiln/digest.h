#pragma once

// kiln/digest.h: names some content by 128 bits.
//
//     const kiln::Digest digest = kiln::digest_of("text");
//     assert(kiln::Digest::from_hex(digest.hex()) == digest);

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kiln/export.h"

namespace KILN_EXPORT kiln {

/// 128 bits naming some content: XXH3-128 in its canonical (big-endian) byte order, so that digests
/// are the same on every machine. Not a defence against an adversary: whoever can write the cache
/// can run code, which is why the cache directory is private.
struct Digest {
  std::array<std::uint8_t, 16> bytes{};

  auto operator<=>(const Digest&) const = default;

  /// All zero: no content has this digest but by a chance of 2^-128.
  [[nodiscard]] bool empty() const noexcept { return *this == Digest{}; }

  /// 32 lower-case hexadecimal digits.
  [[nodiscard]] std::string hex() const;

  /// The inverse of hex(); nothing for anything but exactly 32 hexadecimal digits.
  [[nodiscard]] static std::optional<Digest> from_hex(std::string_view text) noexcept;

  /// The digest's own bytes, as stored in files.
  [[nodiscard]] std::string_view view() const noexcept;
};

/// The digest of these bytes.
[[nodiscard]] Digest digest_of(std::string_view bytes) noexcept;

/// For unordered containers: a digest is already well mixed.
struct DigestHash {
  [[nodiscard]] std::size_t operator()(const Digest& digest) const noexcept;
};

}  // namespace kiln
