#include "frame.h"

#include <cstddef>

namespace kiln::storage {
namespace {

constexpr std::string_view magic = "kilF";
constexpr std::uint8_t frame_version = 1;
constexpr std::size_t header_bytes = magic.size() + 2 + 2 * sizeof(std::uint64_t);
constexpr std::size_t checksum_bytes = sizeof(Digest::bytes);
constexpr int compression_level = 3;

enum Codec : std::uint8_t { plain = 0, zstd = 1 };

void append_u64(std::string& out, std::uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>(value >> shift));
}

/// REQUIRES: at least 8 bytes at `offset`.
std::uint64_t read_u64(std::string_view in, std::size_t offset) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    value |= std::uint64_t{static_cast<std::uint8_t>(in[offset + i])} << (8 * i);
  }
  return value;
}

std::string make_header(Codec codec, std::uint64_t raw_size, std::uint64_t stored_size) {
  std::string header(magic);
  header.push_back(static_cast<char>(frame_version));
  header.push_back(static_cast<char>(codec));
  append_u64(header, raw_size);
  append_u64(header, stored_size);
  return header;
}

Digest checksum(std::string_view header, const FrameOwner& owner, std::string_view stored) {
  std::string covered(header);
  covered.push_back(static_cast<char>(owner.table));
  covered.append(owner.first.view());
  covered.append(owner.second.view());
  covered.append(digest_of(stored).view());
  return digest_of(covered);
}

struct Parts {
  std::uint8_t codec = Codec::plain;
  std::uint64_t raw_size = 0;
  std::string_view stored;
};

/// Nothing for what is not as it was written, or in no known version. Looks into nothing compressed.
std::optional<Parts> parts_of(std::string_view frame, const FrameOwner& owner) {
  if (frame.size() < header_bytes + checksum_bytes) return std::nullopt;
  const auto header = frame.substr(0, header_bytes);
  const auto stored = frame.substr(header_bytes + checksum_bytes);
  if (checksum(header, owner, stored).view() != frame.substr(header_bytes, checksum_bytes)) {
    return std::nullopt;
  }

  // A right checksum proves that the bytes are as they were written, not that this version wrote them.
  const auto version = static_cast<std::uint8_t>(header[magic.size()]);
  const auto codec = static_cast<std::uint8_t>(header[magic.size() + 1]);
  const std::uint64_t raw_size = read_u64(header, magic.size() + 2);
  const std::uint64_t stored_size = read_u64(header, magic.size() + 10);
  if (!header.starts_with(magic) || version != frame_version) return std::nullopt;
  if (stored_size != stored.size() || raw_size > max_raw_bytes) return std::nullopt;
  const bool known = codec == Codec::zstd || (codec == Codec::plain && raw_size == stored_size);
  return known ? std::optional(Parts{codec, raw_size, stored}) : std::nullopt;
}

}  // namespace

std::string FrameEncoder::encode(std::string_view raw, const FrameOwner& owner) {
  std::string compressed(ZSTD_compressBound(raw.size()), '\0');
  const std::size_t size = ZSTD_compressCCtx(context_.get(), compressed.data(), compressed.size(),
                                             raw.data(), raw.size(), compression_level);
  const bool smaller = !ZSTD_isError(size) && size < raw.size();
  const std::string_view stored = smaller ? std::string_view(compressed).substr(0, size) : raw;

  std::string frame = make_header(smaller ? Codec::zstd : Codec::plain, raw.size(), stored.size());
  frame.reserve(header_bytes + checksum_bytes + stored.size());
  frame.append(checksum(frame, owner, stored).view());
  frame.append(stored);
  return frame;
}

std::optional<std::string> FrameDecoder::decode(std::string_view frame, const FrameOwner& owner) {
  const auto parts = parts_of(frame, owner);
  if (!parts) return std::nullopt;
  const auto& [codec, raw_size, stored] = *parts;
  if (codec == Codec::plain) return std::string(stored);
  if (ZSTD_getFrameContentSize(stored.data(), stored.size()) != raw_size) return std::nullopt;
  std::string raw(raw_size, '\0');
  const std::size_t size =
      ZSTD_decompressDCtx(context_.get(), raw.data(), raw.size(), stored.data(), stored.size());
  if (ZSTD_isError(size) || size != raw_size) return std::nullopt;
  return raw;
}

std::optional<std::uint64_t> FrameDecoder::sound_size(std::string_view frame,
                                                      const FrameOwner& owner) {
  const auto parts = parts_of(frame, owner);
  return parts ? std::optional(parts->raw_size) : std::nullopt;
}

}  // namespace kiln::storage
