#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace kiln::storage {

/// Memory for `size` bytes of an image and a zero byte behind them; the rest is not initialised. Aligned as the heap's.
/// Safe to call from any thread; it goes back with the last pointer to it.
///
/// A process that reads many images gets them from pages of 2 MiB, where the system gives such: to give it so much memory
/// by 4 KiB costs more than to decompress what comes into it. Images share such a page, and it lives as long as the
/// last of them. One page is kept for the next image.
[[nodiscard]] std::shared_ptr<char> image_memory(std::size_t size);

/// A record whose memory may become that of the image in it.
struct ImageRecord {
  std::shared_ptr<char> bytes;  ///< Nobody else's; a zero byte follows them.
  std::size_t size = 0;

  /// Of image_memory().
  explicit ImageRecord(std::size_t record_size)
      : bytes(image_memory(record_size)), size(record_size) {}
  /// The last `record_size` bytes of a text. REQUIRES: it has as many.
  ImageRecord(std::string text, std::size_t record_size) : size(record_size) {
    const auto owned = std::make_shared<std::string>(std::move(text));
    bytes = {owned, owned->data() + (owned->size() - size)};
  }

  [[nodiscard]] std::string_view view() const noexcept { return {bytes.get(), size}; }
};

}  // namespace kiln::storage
