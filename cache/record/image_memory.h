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

/// A record whose memory may become that of the image which it ends with.
struct ImageRecord {
  std::shared_ptr<char> bytes;  ///< Nobody else's; a zero byte follows them.
  std::size_t size = 0;

  /// Not initialised. It lies so that an image of `image_size`, if that is its size, is aligned as the heap's memory.
  ImageRecord(std::size_t record_size, std::size_t image_size);

  /// The last bytes of a text. REQUIRES: it has as many.
  [[nodiscard]] static ImageRecord at_end_of(std::string text, std::size_t record_size);

  [[nodiscard]] std::string_view view() const noexcept { return {bytes.get(), size}; }

  /// The last bytes of the record, aligned, which takes a move of them where the record does not lie so.
  /// REQUIRES: it has as many.
  [[nodiscard]] static Bytes image_of(ImageRecord record, std::size_t image_size);

 private:
  ImageRecord(std::shared_ptr<char> with_bytes, std::size_t record_size) noexcept
      : bytes(std::move(with_bytes)), size(record_size) {}
};

}  // namespace kiln::storage
