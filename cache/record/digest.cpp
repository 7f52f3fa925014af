#include "kiln/digest.h"

#include <algorithm>
#include <cstring>

#include <xxhash.h>

namespace kiln {
namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

std::optional<std::uint8_t> hex_value(char digit) noexcept {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return std::nullopt;
}

}  // namespace

std::string Digest::hex() const {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::uint8_t byte : bytes) {
    text.push_back(hex_digits[byte >> 4]);
    text.push_back(hex_digits[byte & 15]);
  }
  return text;
}

std::optional<Digest> Digest::from_hex(std::string_view text) noexcept {
  Digest digest;
  if (text.size() != 2 * digest.bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto value = hex_value(text[i]);
    if (!value) return std::nullopt;
    digest.bytes[i / 2] |= i % 2 == 0 ? *value << 4 : *value;
  }
  return digest;
}

std::string_view Digest::view() const noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Digest digest_of(std::string_view bytes) noexcept {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  Digest digest;
  static_assert(sizeof canonical.digest == sizeof digest.bytes);
  std::copy(std::begin(canonical.digest), std::end(canonical.digest), digest.bytes.begin());
  return digest;
}

std::size_t DigestHash::operator()(const Digest& digest) const noexcept {
  std::size_t value;
  std::memcpy(&value, digest.bytes.data(), sizeof value);
  return value;
}

}  // namespace kiln
