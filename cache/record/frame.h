#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <zstd.h>

#include "kiln/digest.h"
#include "record/image_memory.h"

namespace kiln::storage {

/// The most that a frame may hold before compression: 1 GiB.
inline constexpr std::uint64_t max_raw_bytes = std::uint64_t{1} << 30;

/// Which row a frame belongs to. The checksum covers it and the frame does not hold it, so that a sound frame in
/// another row's place is as bad as a damaged one.
struct FrameOwner {
  enum class Table : char {
    entries = 'e',
    texts = 't',
    dependency_sets = 'd',
    witnesses = 'w',
    failures = 'f',
    kernels = 'k'
  };

  Table table;
  Digest first = {};
  Digest second = {};
};

/// Puts bytes into frames, compressed where that makes them smaller:
///
///     magic "kilF" · version u8 = 1 · codec u8 (0 plain, 1 zstd) · raw size u64 · stored size u64 ·
///     checksum (16 bytes) · stored bytes
///
/// Sizes are little-endian. The checksum is a digest over the bytes before it, the owner and the
/// digest of the stored bytes. One encoder serves one thread.
class FrameEncoder {
 public:
  /// REQUIRES: raw.size() <= max_raw_bytes.
  [[nodiscard]] std::string encode(std::string_view raw, const FrameOwner& owner);

  /// The same as it is. REQUIRES: as above.
  [[nodiscard]] static std::string encode_plain(std::string_view raw, const FrameOwner& owner);

 private:
  struct Free {
    void operator()(ZSTD_CCtx* context) const noexcept { ZSTD_freeCCtx(context); }
  };
  std::unique_ptr<ZSTD_CCtx, Free> context_{ZSTD_createCCtx()};
};

/// Takes bytes out of frames. Total: it takes any bytes. It verifies the checksum before it decompresses anything, and
/// bounds sizes before it allocates anything. One decoder serves one thread.
class FrameDecoder {
 public:
  /// Nothing for anything but a sound frame of this owner in a known version.
  [[nodiscard]] std::optional<std::string> decode(std::string_view frame, const FrameOwner& owner);

  /// The same of an artifact's record. Takes the frame, and does not copy what is plain in it. `image_size`: as of ImageBuffer.
  [[nodiscard]] std::optional<ImageBuffer> decode_image(ImageBuffer frame, std::size_t image_size,
                                                        const FrameOwner& owner);

  /// How many bytes the frame says that it holds; nothing for a damaged frame. Decompresses nothing.
  [[nodiscard]] static std::optional<std::uint64_t> sound_size(std::string_view frame,
                                                               const FrameOwner& owner);

 private:
  struct Free {
    void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
  };
  std::unique_ptr<ZSTD_DCtx, Free> context_{ZSTD_createDCtx()};
};

}  // namespace kiln::storage
