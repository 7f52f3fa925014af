#include "record/frame.h"

#include <cstddef>
#include <utility>

namespace kiln::storage {
namespace {

constexpr std::string_view magic = "kilF";
constexpr std::uint8_t frame_version = 1;
constexpr std::size_t header_bytes = magic.size() + 2 + 2 * sizeof(std::uint64_t);
constexpr std::size_t checksum_bytes = sizeof(Digest::bytes);

// kiln reads images far more often than it writes them. Huffman-coded literals cost a third of the time that an image
// takes to decompress, and save some 7 % of its size; level 6 wins that back, and takes 0.4 ms more for a put of 26 KB.
// A hit reads no texts. The figures are in README.md.
constexpr int text_level = 3;
constexpr int image_level = 6;
// ZSTD_c_literalCompressionMode and ZSTD_ps_disable: zstd.h names them for static linking only. A zstd that does not
// know them any more compresses as usual.
constexpr ZSTD_cParameter literal_mode = ZSTD_c_experimentalParam5;
constexpr int literals_plain = 2;

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

void choose_compression(ZSTD_CCtx* context, FrameOwner::Table table) {
  const bool image = table == FrameOwner::Table::entries;
  ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters);
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, image ? image_level : text_level);
  if (image) ZSTD_CCtx_setParameter(context, literal_mode, literals_plain);
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

/// Nothing for a frame that is damaged or of an unknown version. Decompresses nothing.
std::optional<Parts> parts_of(std::string_view frame, const FrameOwner& owner) {
  if (frame.size() < header_bytes + checksum_bytes) return std::nullopt;
  const auto header = frame.substr(0, header_bytes);
  const auto stored = frame.substr(header_bytes + checksum_bytes);
  if (checksum(header, owner, stored).view() != frame.substr(header_bytes, checksum_bytes)) {
    return std::nullopt;
  }

  // A right checksum proves that the bytes are as somebody wrote them, not that this version of kiln did.
  const auto version = static_cast<std::uint8_t>(header[magic.size()]);
  const auto codec = static_cast<std::uint8_t>(header[magic.size() + 1]);
  const std::uint64_t raw_size = read_u64(header, magic.size() + 2);
  const std::uint64_t stored_size = read_u64(header, magic.size() + 10);
  if (!header.starts_with(magic) || version != frame_version) return std::nullopt;
  if (stored_size != stored.size() || raw_size > max_raw_bytes) return std::nullopt;
  // A zstd block takes at least 4 bytes and gives at most 128 KiB (RFC 8878, 3.1.1.2). So a few bytes cannot ask for
  // a GiB.
  const bool possible = raw_size / (std::uint64_t{128} * 1024) <= stored_size / 4;
  const bool known =
      (codec == Codec::zstd && possible) || (codec == Codec::plain && raw_size == stored_size);
  return known ? std::optional(Parts{codec, raw_size, stored}) : std::nullopt;
}

/// Whether the parts are as many bytes as they say, which `raw` has room for.
bool decompress(ZSTD_DCtx* context, const Parts& parts, char* raw) {
  const auto& [codec, raw_size, stored] = parts;
  if (ZSTD_getFrameContentSize(stored.data(), stored.size()) != raw_size) return false;
  return ZSTD_decompressDCtx(context, raw, raw_size, stored.data(), stored.size()) == raw_size;
}

std::string make_frame(Codec codec, std::size_t raw_size, std::string_view stored,
                       const FrameOwner& owner) {
  std::string frame = make_header(codec, raw_size, stored.size());
  frame.reserve(header_bytes + checksum_bytes + stored.size());
  frame.append(checksum(frame, owner, stored).view());
  frame.append(stored);
  return frame;
}

}  // namespace

std::string FrameEncoder::encode_plain(std::string_view raw, const FrameOwner& owner) {
  return make_frame(Codec::plain, raw.size(), raw, owner);
}

std::string FrameEncoder::encode(std::string_view raw, const FrameOwner& owner) {
  std::string compressed(ZSTD_compressBound(raw.size()), '\0');
  choose_compression(context_.get(), owner.table);
  const std::size_t size =
      ZSTD_compress2(context_.get(), compressed.data(), compressed.size(), raw.data(), raw.size());
  const bool smaller = !ZSTD_isError(size) && size < raw.size();
  if (!smaller) return encode_plain(raw, owner);
  return make_frame(Codec::zstd, raw.size(), std::string_view(compressed).substr(0, size), owner);
}

std::optional<std::string> FrameDecoder::decode(std::string_view frame, const FrameOwner& owner) {
  const auto parts = parts_of(frame, owner);
  if (!parts) return std::nullopt;
  if (parts->codec == Codec::plain) return std::string(parts->stored);
  std::string raw(parts->raw_size, '\0');
  if (!decompress(context_.get(), *parts, raw.data())) return std::nullopt;
  return raw;
}

std::optional<ImageBuffer> FrameDecoder::decode_image(ImageBuffer frame, std::size_t image_size,
                                                      const FrameOwner& owner) {
  const auto parts = parts_of(frame.view(), owner);
  if (!parts) return std::nullopt;
  if (parts->codec == Codec::plain) return std::move(frame).last(parts->raw_size);
  ImageBuffer record(parts->raw_size, image_size);
  if (!decompress(context_.get(), *parts, record.bytes.get())) return std::nullopt;
  return record;
}

std::optional<std::uint64_t> FrameDecoder::sound_size(std::string_view frame,
                                                      const FrameOwner& owner) {
  const auto parts = parts_of(frame, owner);
  return parts ? std::optional(parts->raw_size) : std::nullopt;
}

}  // namespace kiln::storage
