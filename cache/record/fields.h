#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kiln/digest.h"

namespace kiln::storage {

/// What a field means. Each kind of record opens with a version field of its own tag, so that bytes
/// of one kind are never bytes of another. The values are on disk and in keys: add, never change.
enum class Tag : std::uint8_t {
  request_version = 0x01,
  program = 0x02,
  source = 0x03,
  source_bytes = 0x04,
  option = 0x05,
  expression = 0x06,
  arch = 0x07,
  kind = 0x08,
  standard_headers = 0x09,
  engine = 0x0a,

  parcel_version = 0x10,
  entry_key = 0x11,
  material = 0x12,
  dependencies_frame = 0x13,
  payload_frame = 0x14,
  kernels_frame = 0x15,
  text_list = 0x16,
  text_list_version = 0x18,
  text_digest = 0x19,
  object = 0x1a,
  hint_version = 0x1c,
  compile_us = 0x1d,

  dependencies_version = 0x20,
  working_directory = 0x21,
  spelling = 0x22,
  parent = 0x23,
  content = 0x24,
  path = 0x25,
  tested = 0x26,
  same_path = 0x27,
  same_file = 0x28,
  modified_ns = 0x29,
  directories = 0x2a,
  embedded_names = 0x2b,
  beside = 0x2c,
  reach = 0x2d,
  as_spelled = 0x2e,

  key_version = 0x40,
  request_digest = 0x41,
  dependencies_digest = 0x42,
  toolchain_identity = 0x43,

  artifact_version = 0x60,
  toolchain_text = 0x61,
  log = 0x63,
  kernel_expression = 0x64,
  kernel_symbol = 0x65,
  kernel_registers = 0x66,
  kernel_shared_bytes = 0x67,
  kernel_local_bytes = 0x68,
  kernel_params_known = 0x69,
  parameter_offset = 0x6a,
  parameter_size = 0x6b,
  image = 0x6c,
  source_text = 0x6d,

  witness_version = 0x80,
  stamp_device = 0x81,
  stamp_inode = 0x82,
  stamp_size = 0x83,
  stamp_modified_ns = 0x84,
  stamp_changed_ns = 0x85,

  failure_version = 0xa0,
  failure_began = 0xa1,
  failure_code = 0xa2,
  failure_message = 0xa3,
  failure_log = 0xa4,
  failure_vendor_code = 0xa5,

  kernels_version = 0xc0,
  kernel_code_bytes = 0xc1,
  kernel_spill_stores = 0xc2,
  kernel_spill_loads = 0xc3,
  kernel_max_threads = 0xc4,

  claim_version = 0xe0,
  signer = 0xe1,
  request_hash = 0xe2,
  dependencies_hash = 0xe3,
  source_hash = 0xe4,
  headers_hash = 0xe5,
  artifact_hash = 0xe6,
  kernels_hash = 0xe7,
  dependencies_bytes = 0xe8,
  artifact_bytes = 0xe9,

  signature_version = 0xf0,
  claim = 0xf1,
  signature = 0xf2,
};

/// What a record holds as a number: an enumerator as its value, a signed number as its two's complement, a flag as 0
/// or 1.
template <class Value>
concept Number = std::integral<Value> || std::is_enum_v<Value>;

/// The unsigned type of that number.
template <Number Value>
using Unsigned = typename std::conditional_t<std::same_as<Value, bool>, std::type_identity<bool>,
                                             std::make_unsigned<Value>>::type;

// A record's fields and their order are spelled once, in a function of (fields, value). With a FieldWriter it writes
// the value, with a FieldReader it reads it: both have version(), field(), optional(), known(), list() and require().

/// Writes a record: a sequence of fields, each `tag (1 byte) · length (varint) · bytes`.
///
/// A varint is LEB128 in its shortest form; a number is a varint as a field's bytes. So a record has
/// exactly one spelling, and no two records share one.
class FieldWriter {
 public:
  void bytes(Tag tag, std::string_view value);
  void number(Tag tag, std::uint64_t value);
  void digest(Tag tag, const Digest& value) { bytes(tag, value.view()); }

  void version(Tag tag, std::uint64_t known) { number(tag, known); }
  void field(Tag tag, std::string_view value) { bytes(tag, value); }
  void field(Tag tag, const Digest& value) { digest(tag, value); }
  template <Number Value>
  void field(Tag tag, Value value) {
    number(tag, static_cast<Unsigned<Value>>(value));
  }
  /// Writes the field only where the value is not `none`.
  template <class Value>
  void optional(Tag tag, const Value& value, const std::type_identity_t<Value>& none) {
    if (value != none) field(tag, value);
  }
  /// The same for what may not be known: `one(value)` writes it, beginning with a field of the tag `first`.
  template <class Value, class One>
  void known(Tag /*first*/, const std::optional<Value>& value, const One& one) {
    if (value) one(*value);
  }
  /// `each(item)` writes one item; `first` is the tag that each begins with.
  template <class Item, class Each>
  void list(Tag /*first*/, const std::vector<Item>& items, const Each& each) {
    for (const Item& item : items) each(item);
  }
  /// Only a reader can refuse a value.
  void require(bool /*holds*/) const noexcept {}

  /// Makes room for this many more bytes at once.
  void reserve(std::size_t size) { record_.reserve(record_.size() + size); }

  /// The record. The writer is empty afterwards.
  [[nodiscard]] std::string take() noexcept;

 private:
  std::string record_;
};

/// Reads a record in the order in which it was written.
///
/// Total: any bytes may be given, and reading takes memory in proportion to real records: a record of more
/// than `most_fields` is refused, since minimal fields cost many times their size once they are decoded. Once a field
/// is not what was asked for, every later read gives nothing and finished() is false, so that a decoder checks once,
/// at its end. Views point into the record.
class FieldReader {
 public:
  /// A program that includes all of CCCL has some 3,000.
  static constexpr std::size_t most_fields = 1'000'000;

  explicit FieldReader(std::string_view record) noexcept : rest_(record) {}

  /// Whether the next field has this tag.
  [[nodiscard]] bool at(Tag tag) const noexcept;

  [[nodiscard]] std::string_view bytes(Tag tag) noexcept;
  [[nodiscard]] std::uint64_t number(Tag tag) noexcept { return number_up_to(tag, UINT64_MAX); }
  [[nodiscard]] std::uint32_t number32(Tag tag) noexcept {
    return static_cast<std::uint32_t>(number_up_to(tag, UINT32_MAX));
  }
  [[nodiscard]] Digest digest(Tag tag) noexcept;
  [[nodiscard]] std::string text(Tag tag) { return std::string(bytes(tag)); }

  void version(Tag tag, std::uint64_t known) noexcept { require(number(tag) == known); }
  void field(Tag tag, std::string& value) { value = text(tag); }
  void field(Tag tag, Digest& value) noexcept { value = digest(tag); }
  template <Number Value>
  void field(Tag tag, Value& value) noexcept {
    value = static_cast<Value>(number_up_to(tag, std::numeric_limits<Unsigned<Value>>::max()));
  }
  /// Refuses a field that says `none`: it would be a second spelling.
  template <class Value>
  void optional(Tag tag, Value& value, const std::type_identity_t<Value>& none) {
    value = none;
    if (!at(tag)) return;
    field(tag, value);
    require(value != none);
  }
  template <class Value, class One>
  void known(Tag first, std::optional<Value>& value, const One& one) {
    value.reset();
    if (at(first)) one(value.emplace());
  }
  template <class Item, class Each>
  void list(Tag first, std::vector<Item>& items, const Each& each) {
    while (at(first)) {
      Item item{};
      each(item);
      items.push_back(std::move(item));
    }
  }
  void require(bool holds) noexcept {
    if (!holds) reject();
  }

  /// For what a decoder itself finds wrong.
  void reject() noexcept;

  /// Whether the whole record was read and nothing was wrong.
  [[nodiscard]] bool finished() const noexcept { return !failed_ && rest_.empty(); }

 private:
  [[nodiscard]] std::uint64_t number_up_to(Tag tag, std::uint64_t most) noexcept;

  std::string_view rest_;
  std::size_t fields_ = 0;
  bool failed_ = false;
};

template <class Value, class Fields>
[[nodiscard]] std::string write_record(const Value& value, const Fields& fields) {
  FieldWriter out;
  fields(out, value);
  return out.take();
}

/// The inverse; nothing for anything else.
template <class Value, class Fields>
[[nodiscard]] std::optional<Value> read_record(std::string_view record, const Fields& fields) {
  FieldReader in(record);
  Value value;
  fields(in, value);
  return in.finished() ? std::optional(std::move(value)) : std::nullopt;
}

}  // namespace kiln::storage
