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
  Bytes(std::string bytes) : bytes_(std::make_shared<const std::string>(std::move(bytes))) {}
  Bytes(const char* text) : Bytes(std::string(text)) {}

  operator const std::string&() const noexcept { return string(); }
  operator std::string_view() const noexcept { return string(); }
  // NOLINTEND(google-explicit-constructor)

  [[nodiscard]] const std::string& string() const noexcept { return bytes_ ? *bytes_ : none(); }
  [[nodiscard]] const char* data() const noexcept { return string().data(); }
  [[nodiscard]] std::size_t size() const noexcept { return string().size(); }
  [[nodiscard]] bool empty() const noexcept { return string().empty(); }

  friend bool operator==(const Bytes& one, const Bytes& other) noexcept {
    return one.bytes_ == other.bytes_ || one.string() == other.string();
  }

 private:
  [[nodiscard]] static const std::string& none() noexcept {
    static const std::string nothing;
    return nothing;
  }

  std::shared_ptr<const std::string> bytes_;
};

}  // namespace kiln
