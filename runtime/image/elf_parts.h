#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

/// The parts that a cubin, an ELF image, is made of, for those who read it. Total on any bytes.
namespace kiln::elf {

/// The section types that the toolkit adds to ELF's, as far as something here tells them apart.
enum SectionType : std::uint32_t {
  info_type = 0x70000000,  ///< `.nv.info`: attributes.
  call_graph_type = 0x70000001,
  prototype_type = 0x70000002,
  global_type = 0x70000007,  ///< `.nv.global`, where it is not of ELF's own type.
  local_type = 0x70000009,
  shared_type = 0x7000000a,
  reserved_shared_type = 0x70000015,
  mercury_code_type = 0x70000016,
  mercury_relocations_type = 0x70000082,
  mercury_info_type = 0x70000083,
  mercury_symbols_type = 0x70000085,
  compat_type = 0x70000086,  ///< `.nv.compat`: attributes.
};

enum AttributeId : std::uint8_t {
  max_threads_id = 0x05,
  exact_device_id = 0x09,
  parameter_bank_id = 0x0a,
  externals_id = 0x0f,
  required_threads_id = 0x10,
  frame_size_id = 0x11,
  stack_size_id = 0x12,
  parameter_id = 0x17,
  largest_stack_id = 0x23,
  register_count_id = 0x2f,
  cuda_version_id = 0x37,
  large_parameter_id = 0x45,
  annotations_id = 0x55,
};

/// Whether it has bytes in the file. Of memory that is only set aside there is a size alone.
[[nodiscard]] bool has_bytes(const Elf64_Shdr& section);

struct Section {
  Elf64_Shdr header;
  std::string_view bytes;  ///< Empty for one that takes no room in the file.
};

enum class AttributeFormat : std::uint8_t { none = 1, byte = 2, half = 3, payload = 4 };

/// One of `.nv.info` and its like.
struct Attribute {
  std::uint8_t id;
  std::uint16_t value;       ///< The payload's size where there is one.
  std::string_view payload;  ///< Empty for the other formats.
};

[[nodiscard]] std::optional<std::string_view> slice(std::string_view bytes, std::uint64_t offset,
                                                    std::uint64_t size);

/// The value at this offset, which need not be aligned.
template <class T>
[[nodiscard]] std::optional<T> read(std::string_view bytes, std::uint64_t offset) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto found = slice(bytes, offset, sizeof(T));
  if (!found) return std::nullopt;
  T value;
  std::memcpy(&value, found->data(), sizeof(T));
  return value;
}

/// The NUL-terminated text at this offset.
[[nodiscard]] std::optional<std::string_view> read_text(std::string_view bytes,
                                                        std::uint64_t offset);

/// The header of an image that is a cubin.
[[nodiscard]] std::optional<Elf64_Ehdr> read_header(std::string_view image);

/// All sections; nothing where one lies beyond the image, or the section of their names is none of them.
[[nodiscard]] std::optional<std::vector<Section>> read_sections(std::string_view image,
                                                                const Elf64_Ehdr& header);

/// Calls visit(attribute) for each, until it answers false; false when it did or the list is
/// broken.
template <class Visit>
bool for_each_attribute(std::string_view list, Visit visit) {
  while (!list.empty()) {
    const auto format = read<AttributeFormat>(list, 0);
    const auto id = read<std::uint8_t>(list, 1);
    const auto value = read<std::uint16_t>(list, 2);
    if (!format || !id || !value) return false;
    if (*format < AttributeFormat::none || *format > AttributeFormat::payload) return false;
    const std::uint64_t size = *format == AttributeFormat::payload ? *value : 0;
    const auto payload = slice(list, 4, size);
    if (!payload || !visit(Attribute{*id, *value, *payload})) return false;
    list.remove_prefix(4 + size);
  }
  return true;
}

}  // namespace kiln::elf
