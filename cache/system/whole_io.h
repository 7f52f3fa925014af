#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "system/descriptor.h"
#include "system/standard_streams.h"

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

/// All of the file at `path`, whose size nobody need know beforehand; nothing where the system refuses, with errno. A stream's
/// iterator, which does the same in a line, throws where a read fails: as it does of a process in /proc that ends meanwhile.
[[nodiscard]] inline std::optional<std::string> read_file(const char* path) {
  const Descriptor file(open_file(path, O_RDONLY));
  if (!file) return std::nullopt;
  constexpr std::size_t most_at_once = 1 << 16;
  std::string text;
  while (true) {
    const auto more = read_whole(file.get(), most_at_once);
    if (!more) return std::nullopt;
    text += *more;
    if (more->size() <= most_at_once) return text;
  }
}

}  // namespace kiln::system
