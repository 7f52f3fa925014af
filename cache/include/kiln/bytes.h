#pragma once

// kiln/bytes.h: bytes that copies of a value share, such as an artifact's image.
//
//     const kiln::Bytes image(std::string("\x7f" "ELF"));
//     const kiln::Bytes same = image;  // no copy of the bytes
//     const std::string_view view = same;

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "kiln/export.h"

namespace KILN_EXPORT kiln {

/// Bytes that never change, shared by all copies of a value: copying an artifact does not copy its image.
/// A zero byte follows the last one. Safe to use from any thread; freed with the last copy.
class Bytes {
 public:
  Bytes() noexcept = default;
  // NOLINTBEGIN(google-explicit-constructor): they are made of a string, and read like one.
  Bytes(std::string bytes) : Bytes(std::make_shared<const std::string>(std::move(bytes))) {}
  Bytes(const char* text) : Bytes(std::string(text)) {}

  operator std::string_view() const noexcept { return {data(), size_}; }
  /// A copy, as string() gives it.
  operator std::string() const { return string(); }
  // NOLINTEND(google-explicit-constructor)

  /// Of memory that the pointer keeps and nobody changes any more. REQUIRES: a zero byte behind them.
  Bytes(std::shared_ptr<const char> bytes, std::size_t size) noexcept
      : bytes_(std::move(bytes)), size_(size) {}

  /// A copy of them.
  [[nodiscard]] std::string string() const { return std::string(data(), size_); }
  [[nodiscard]] const char* data() const noexcept { return bytes_ ? bytes_.get() : ""; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  friend bool operator==(const Bytes& one, const Bytes& other) noexcept {
    return one.data() == other.data() ? one.size_ == other.size_
                                      : std::string_view(one) == std::string_view(other);
  }

 private:
  explicit Bytes(const std::shared_ptr<const std::string>& bytes) noexcept
      : bytes_(bytes, bytes->data()), size_(bytes->size()) {}

  std::shared_ptr<const char> bytes_;
  std::size_t size_ = 0;
};

}  // namespace kiln
