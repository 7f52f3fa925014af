#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "kiln/bytes.h"

namespace kiln::storage {

/// Memory for `size` bytes of an image and a zero byte behind them; the rest is not initialised. Aligned as the heap's.
/// Safe to call from any thread; it goes back with the last pointer to it.
///
/// A process that reads many images gets them from pages of 2 MiB, where the system gives such: to give it so much memory
/// by 4 KiB costs more than to decompress what comes into it. Images share such a page, and it lives as long as the
/// last of them. One page is kept for the next image.
[[nodiscard]] std::shared_ptr<char> image_memory(std::size_t size);

/// A record, or the frame of one, whose memory may become that of the image which it ends with.
struct ImageBuffer {
  std::shared_ptr<char> bytes;  ///< Nobody else's; a zero byte follows them. Null of an empty one.
  std::size_t size = 0;

  ImageBuffer() = default;
  ImageBuffer(ImageBuffer&&) noexcept = default;
  ImageBuffer& operator=(ImageBuffer&&) noexcept = default;
  ImageBuffer(const ImageBuffer&) = delete;
  ImageBuffer& operator=(const ImageBuffer&) = delete;
  ~ImageBuffer() = default;

  /// Not initialised. It lies so that an image of `image_size`, if that is its size, is aligned as the heap's memory.
  ImageBuffer(std::size_t buffer_size, std::size_t image_size);

  /// Laid out likewise. What is too small to hold such an image takes none of the memory that is for images.
  [[nodiscard]] static ImageBuffer copy_of(std::string_view text, std::size_t image_size);

  /// What a text holds, where it lies.
  explicit ImageBuffer(std::string text);

  [[nodiscard]] std::string_view view() const noexcept { return {bytes.get(), size}; }

  /// So many of the last bytes, where they lie. REQUIRES: it has as many.
  [[nodiscard]] ImageBuffer last(std::size_t count) &&;

  /// The last bytes, aligned, which takes a move of them where the buffer does not lie so. REQUIRES: it has as many.
  [[nodiscard]] Bytes image(std::size_t image_size) &&;
};

}  // namespace kiln::storage
