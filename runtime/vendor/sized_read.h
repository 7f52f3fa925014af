#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace kiln::vendor {

/// What NVIDIA's compilers and linkers give in two calls of one handle: first its size, then its bytes. Nothing where a
/// call does not return 0, which is success to all of them.
template <class Handle, class SizeFunction, class BytesFunction>
[[nodiscard]] std::optional<std::string> read_bytes(Handle handle, SizeFunction size_of,
                                                    BytesFunction bytes_of) {
  std::size_t size = 0;
  if (size_of(handle, &size) != 0) return std::nullopt;
  std::string bytes(size, '\0');
  if (size != 0 && bytes_of(handle, bytes.data()) != 0) return std::nullopt;
  return bytes;
}

/// The same of a text, whose size counts a NUL at its end, or does not.
template <class Handle, class SizeFunction, class BytesFunction>
[[nodiscard]] std::optional<std::string> read_text(Handle handle, SizeFunction size_of,
                                                   BytesFunction bytes_of) {
  auto text = read_bytes(handle, size_of, bytes_of);
  while (text && text->ends_with('\0')) text->pop_back();
  return text;
}

}  // namespace kiln::vendor
