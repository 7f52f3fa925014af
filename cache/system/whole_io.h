#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace kiln::system {

// A call of the system may move fewer bytes than it was asked to, and a signal may end it before any. These do it whole.

/// False where the system refuses, with errno.
[[nodiscard]] inline bool write_whole(int descriptor, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const auto count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// All from here to the file's end, and of a larger one at least `most` + 1 bytes, which tell it; nothing where the system
/// refuses, with errno.
[[nodiscard]] inline std::optional<std::string> read_whole(int descriptor, std::size_t most) {
  std::string text(most + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const auto count = ::read(descriptor, text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  text.resize(size);
  return text;
}

}  // namespace kiln::system
