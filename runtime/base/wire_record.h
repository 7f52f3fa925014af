#pragma once

// Values as they travel between this library and its helper programs, which are of one build. Each value has exactly one record.
// A struct that travels has a function `visit(record, value)` beside it, which hands all its members to record.fields(), and serves
// both ways.

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "kiln/artifact.h"
#include "kiln/bytes.h"
#include "kiln/digest.h"
#include "kiln/error.h"
#include "kiln/target.h"

namespace kiln {

namespace wire {

/// The largest enumerator: what is beyond it is none.
template <class Enum>
constexpr Enum last;
template <>
inline constexpr auto last<Origin> = Origin::remote;
template <>
inline constexpr auto last<ErrorCode> = ErrorCode::io_failed;

/// Appends fields to a record, which holds no names. Reader has a function for each of these, of the same name.
class Writer {
 public:
  template <class... Values>
  void fields(const Values&... values) {
    (field(values), ...);
  }

  void field(const std::string& text) { put(text); }
  void field(const Bytes& bytes) { put(bytes); }
  void field(const Digest& digest) { record_.append(digest.view()); }
  void field(bool flag) { record_.push_back(flag ? '\1' : '\0'); }
  void field(ImageKind kind) { put(to_string(kind)); }
  void field(std::chrono::milliseconds time) { field(time.count()); }

  template <std::integral Number>
  void field(Number number) {
    const std::uint64_t value = static_cast<std::make_unsigned_t<Number>>(number);
    for (int shift = 0; shift < 64; shift += 8) {
      record_.push_back(static_cast<char>(value >> shift));
    }
  }

  template <class Enum>
  requires std::is_enum_v<Enum>
  void field(Enum value) { field(static_cast<std::uint64_t>(value)); }

  template <class Item>
  void field(const std::vector<Item>& items) {
    field(items.size());
    for (const auto& item : items) field(item);
  }

  template <class Item>
  void field(const std::optional<Item>& item) {
    field(item.has_value());
    if (item) field(*item);
  }

  template <class Value>
  void field(const tl::expected<Value, Error>& result) {
    field(result.has_value());
    if (!result) return field(result.error());
    if constexpr (!std::is_void_v<Value>) field(*result);
  }

  template <class... Kinds>
  void field(const std::variant<Kinds...>& value) {
    field(value.index());
    std::visit([this](const auto& kind) { this->field(kind); }, value);
  }

  template <class Struct>
  requires std::is_class_v<Struct>
  void field(const Struct& value) { visit(*this, value); }

  [[nodiscard]] std::string take() noexcept { return std::move(record_); }

 private:
  void put(std::string_view text) {
    field(text.size());
    record_.append(text);
  }

  std::string record_;
};

/// Takes fields off a record in the order in which they were written. Once something is not there, every later
/// field is empty, so that a decoder checks at its end.
class Reader {
 public:
  explicit Reader(std::string_view record) noexcept : rest_(record) {}

  template <class... Values>
  void fields(Values&... values) {
    (field(values), ...);
  }

  template <class Value>
  Value next() {
    Value value{};
    field(value);
    return value;
  }

  void field(std::string& text) { text = take(next<std::uint64_t>()); }
  void field(Bytes& bytes) { bytes = next<std::string>(); }

  void field(Digest& digest) {
    const auto bytes = take(digest.bytes.size());
    std::copy(bytes.begin(), bytes.end(), digest.bytes.begin());
  }

  void field(bool& flag) {
    const auto byte = take(1);
    if (!byte.empty() && byte[0] != '\0' && byte[0] != '\1') failed_ = true;
    flag = !failed_ && byte[0] == '\1';
  }

  void field(ImageKind& kind) {
    const auto parsed = parse_image_kind(next<std::string>());
    if (!parsed) failed_ = true;
    kind = parsed.value_or(ImageKind::cubin);
  }

  void field(std::chrono::milliseconds& time) {
    time = std::chrono::milliseconds(next<std::int64_t>());
  }

  template <std::integral Number>
  void field(Number& number) {
    using Unsigned = std::make_unsigned_t<Number>;
    number = static_cast<Number>(number_up_to(std::numeric_limits<Unsigned>::max()));
  }

  template <class Enum>
  requires std::is_enum_v<Enum>
  void field(Enum& value) {
    value = static_cast<Enum>(number_up_to(static_cast<std::uint64_t>(last<Enum>)));
  }

  // Reserves nothing: a count may be any number, while each item takes bytes of the record.
  template <class Item>
  void field(std::vector<Item>& items) {
    for (auto count = next<std::uint64_t>(); count > 0 && !failed_; --count)
      field(items.emplace_back());
  }

  template <class Item>
  void field(std::optional<Item>& item) {
    if (next<bool>()) field(item.emplace());
  }

  template <class Value>
  void field(tl::expected<Value, Error>& result) {
    if (!next<bool>()) {
      result = tl::unexpected(next<Error>());
    } else if constexpr (!std::is_void_v<Value>) {
      result = next<Value>();
    }
  }

  template <class... Kinds>
  void field(std::variant<Kinds...>& value) {
    const auto index = number_up_to(sizeof...(Kinds) - 1);
    std::size_t at = 0;
    const auto read_if = [&]<class Kind>(std::type_identity<Kind>) {
      if (at++ == index) value = next<Kind>();
    };
    (read_if(std::type_identity<Kinds>()), ...);
  }

  template <class Struct>
  requires std::is_class_v<Struct>
  void field(Struct& value) { visit(*this, value); }

  [[nodiscard]] bool finished() const noexcept { return !failed_ && rest_.empty(); }

 private:
  std::uint64_t number_up_to(std::uint64_t most) {
    std::uint64_t value = 0;
    const auto bytes = take(8);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      value |= std::uint64_t{static_cast<std::uint8_t>(bytes[at])} << (8 * at);
    }
    if (value > most) failed_ = true;
    return failed_ ? 0 : value;
  }

  std::string_view take(std::uint64_t size) {
    if (failed_ || size > rest_.size()) {
      failed_ = true;
      return {};
    }
    const auto bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }

  std::string_view rest_;
  bool failed_ = false;
};

/// The given struct, to be read, or a constant one, to be written.
template <class Given, class Struct>
concept Of = std::same_as<std::remove_const_t<Given>, Struct>;

/// The record of these values, one after the other.
template <class... Values>
std::string encode(const Values&... values) {
  Writer out;
  out.fields(values...);
  return out.take();
}

/// The inverse: takes any bytes, gives nothing for bytes that no encoder wrote, and uses memory in proportion to its input.
template <class Value>
std::optional<Value> decode(std::string_view record) {
  Reader in(record);
  auto value = in.next<Value>();
  if (!in.finished()) return std::nullopt;
  return value;
}

}  // namespace wire

// The bindings name every member, so that one that is added to a struct stops the build here.
void visit(auto& record, wire::Of<Error> auto& error) {
  auto& [code, message, log, vendor_code] = error;
  record.fields(code, message, log, vendor_code);
}

}  // namespace kiln
