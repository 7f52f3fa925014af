#include "record/fields.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace kiln::storage {
namespace {

void append_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

/// Takes a varint off the front; nothing for one that is cut off, too long or not the shortest.
std::optional<std::uint64_t> take_varint(std::string_view& in) noexcept {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(in.front());
    in.remove_prefix(1);
    const std::uint64_t bits = byte & 0x7f;
    if (shift == 63 && bits > 1) return std::nullopt;
    value |= bits << shift;
    if (byte < 0x80) {
      const bool shortest = byte != 0 || shift == 0;
      return shortest ? std::optional(value) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

void FieldWriter::bytes(Tag tag, std::string_view value) {
  record_.push_back(static_cast<char>(tag));
  append_varint(record_, value.size());
  record_.append(value);
}

void FieldWriter::number(Tag tag, std::uint64_t value) {
  std::string digits;
  append_varint(digits, value);
  bytes(tag, digits);
}

std::string FieldWriter::take() noexcept { return std::exchange(record_, {}); }

bool FieldReader::at(Tag tag) const noexcept {
  return !failed_ && !rest_.empty() && rest_.front() == static_cast<char>(tag);
}

std::string_view FieldReader::bytes(Tag tag) noexcept {
  if (!at(tag) || ++fields_ > most_fields) {
    reject();
    return {};
  }
  rest_.remove_prefix(1);
  const auto length = take_varint(rest_);
  if (!length || *length > rest_.size()) {
    reject();
    return {};
  }
  const auto value = rest_.substr(0, *length);
  rest_.remove_prefix(*length);
  return value;
}

std::uint64_t FieldReader::number_up_to(Tag tag, std::uint64_t most) noexcept {
  auto digits = bytes(tag);
  const auto value = take_varint(digits);
  if (!value || !digits.empty() || *value > most) {
    reject();
    return 0;
  }
  return *value;
}

Digest FieldReader::digest(Tag tag) noexcept {
  const auto value = bytes(tag);
  Digest digest;
  if (value.size() != digest.bytes.size()) {
    reject();
    return digest;
  }
  std::copy(value.begin(), value.end(), digest.bytes.begin());
  return digest;
}

void FieldReader::reject() noexcept {
  failed_ = true;
  rest_ = {};
}

}  // namespace kiln::storage
