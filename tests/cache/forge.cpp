#include "forge.h"

#include <algorithm>
#include <memory>

#include <zstd.h>

namespace kiln::test {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

struct Free {
  void operator()(ZSTD_CCtx* context) const noexcept { ZSTD_freeCCtx(context); }
};
using Context = std::unique_ptr<ZSTD_CCtx, Free>;

std::string little_endian(std::uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(value >> 8 * i));
  return bytes;
}

void compress(ZSTD_CCtx* context, std::string_view raw, ZSTD_EndDirective directive,
              std::string& out) {
  ZSTD_inBuffer in{raw.data(), raw.size(), 0};
  std::size_t unfinished = 1;
  while (in.pos < in.size || (directive == ZSTD_e_end && unfinished != 0)) {
    char buffer[4096];
    ZSTD_outBuffer piece{buffer, sizeof buffer, 0};
    unfinished = ZSTD_compressStream2(context, &piece, &in, directive);
    out.append(buffer, piece.pos);
  }
}

}  // namespace

std::string forge(const FrameWords& words, const storage::FrameOwner& owner,
                  std::string_view stored) {
  std::string header(words.magic);
  header.push_back(static_cast<char>(words.version));
  header.push_back(static_cast<char>(words.codec));
  header += little_endian(words.raw_size) + little_endian(words.stored_size);
  std::string covered = header + static_cast<char>(owner.table);
  covered.append(owner.first.view()).append(owner.second.view());
  covered.append(digest_of(stored).view());
  return header + std::string(digest_of(covered).view()) + std::string(stored);
}

std::string zstd(std::string_view raw, bool with_size) {
  std::string out(ZSTD_compressBound(raw.size()), '\0');
  const Context context(ZSTD_createCCtx());
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_contentSizeFlag, with_size ? 1 : 0);
  out.resize(ZSTD_compress2(context.get(), out.data(), out.size(), raw.data(), raw.size()));
  return out;
}

std::string zstd_bomb(std::string_view prefix, std::string_view unit, std::size_t count,
                      std::string_view suffix) {
  const std::size_t per_chunk = std::max<std::size_t>(1, chunk_bytes / unit.size());
  std::string chunk;
  for (std::size_t i = 0; i < std::min(per_chunk, count); ++i) chunk.append(unit);
  const Context context(ZSTD_createCCtx());
  ZSTD_CCtx_setPledgedSrcSize(context.get(), prefix.size() + unit.size() * count + suffix.size());
  std::string out;
  compress(context.get(), prefix, ZSTD_e_continue, out);
  for (std::size_t left = count; left > 0;) {
    const std::size_t now = std::min(left, per_chunk);
    compress(context.get(), std::string_view(chunk).substr(0, now * unit.size()), ZSTD_e_continue,
             out);
    left -= now;
  }
  compress(context.get(), suffix, ZSTD_e_end, out);
  return out;
}

}  // namespace kiln::test
