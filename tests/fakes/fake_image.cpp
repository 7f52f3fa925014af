#include "fake_image.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <regex>
#include <string>
#include <string_view>

#include "image/elf_parts.h"

namespace fake {

namespace {

std::string_view whole_cubin(const char* bytes) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes, sizeof(header));
  std::uint64_t end = std::max(header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr),
                               header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr));
  for (unsigned index = 0; index < header.e_shnum; ++index) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes + header.e_shoff + index * sizeof(section), sizeof(section));
    if (kiln::elf::has_bytes(section)) end = std::max(end, section.sh_offset + section.sh_size);
  }
  return {bytes, end};
}

template <class T>
T read_at(std::string_view bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::map<std::string, std::size_t> variables_of(std::string_view cubin) {
  std::map<std::string, std::size_t> variables;
  const auto header = read_at<Elf64_Ehdr>(cubin, 0);
  const auto section_at = [&](unsigned index) {
    return read_at<Elf64_Shdr>(cubin, header.e_shoff + index * sizeof(Elf64_Shdr));
  };
  for (unsigned index = 0; index < header.e_shnum; ++index) {
    const auto section = section_at(index);
    if (section.sh_type != SHT_SYMTAB) continue;
    const auto names = section_at(section.sh_link);
    for (std::size_t at = 0; at < section.sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = read_at<Elf64_Sym>(cubin, section.sh_offset + at);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT) continue;
      variables[cubin.data() + names.sh_offset + symbol.st_name] = symbol.st_size;
    }
  }
  return variables;
}

std::optional<Image> read_cubin(std::string_view whole) {
  auto cubin = kiln::read_cubin(whole);
  if (!cubin) return std::nullopt;
  return Image{.architecture = {.version = static_cast<int>(cubin->arch),
                                .suffix = cubin->exact_device ? 'a' : '\0'},
               .kernels = std::move(cubin->kernels),
               .variables = variables_of(whole)};
}

std::uint32_t number(const std::ssub_match& digits, std::uint32_t otherwise) {
  return digits.matched ? static_cast<std::uint32_t>(std::stoul(digits)) : otherwise;
}

/// Of `.param .u64 .ptr .align 1 name` and `.param .align 16 .b8 name[20]`.
std::vector<kiln::Parameter> read_params(const std::string& list) {
  static const std::regex param(
      R"(\.param\s+(?:\.align\s+(\d+)\s+)?\.[a-z]+(\d+)[^,\[]*(?:\[(\d+)\])?)");
  std::vector<kiln::Parameter> params;
  std::uint32_t end = 0;
  for (std::sregex_iterator at(list.begin(), list.end(), param), last; at != last; ++at) {
    const auto element = number((*at)[2], 8) / 8;
    const auto alignment = number((*at)[1], element);
    const auto offset = (end + alignment - 1) / alignment * alignment;
    params.push_back({offset, element * number((*at)[3], 1)});
    end = offset + params.back().size;
  }
  return params;
}

std::optional<Image> read_ptx(const std::string& text) {
  static const std::regex target(R"(\n\.target\s+(\w+))");
  static const std::regex entry(R"(\.entry\s+([\w$]+)\s*\(([^)]*)\))");
  std::smatch found;
  if (!std::regex_search(text, found, target)) return std::nullopt;
  const auto architecture = kiln::read_architecture(found[1].str());
  if (!architecture) return std::nullopt;
  Image image{.architecture = *architecture, .is_ptx = true};
  for (std::sregex_iterator at(text.begin(), text.end(), entry), last; at != last; ++at) {
    image.kernels.push_back({.symbol = (*at)[1], .params = read_params((*at)[2])});
  }
  return image;
}

constexpr std::uint32_t fatbin_magic = 0xba55ed50;

/// Entries, after the header of 16 bytes whose last 8 are the size of all of them: u16 kind (2: a cubin),
/// u16, u32 size of this header, u64 size of what follows it.
std::vector<Image> read_fatbin(const char* bytes) {
  std::vector<Image> images;
  const std::string_view whole(bytes, 16 + read_at<std::uint64_t>({bytes, 16}, 8));
  for (std::size_t at = 16; at < whole.size();) {
    const auto header_bytes = read_at<std::uint32_t>(whole, at + 4);
    const auto payload_bytes = read_at<std::uint64_t>(whole, at + 8);
    auto image = read_at<std::uint16_t>(whole, at) == 2
                     ? read_cubin(whole.substr(at + header_bytes, payload_bytes))
                     : std::nullopt;
    if (image) images.push_back(std::move(*image));
    at += header_bytes + payload_bytes;
  }
  std::ranges::sort(images, std::ranges::greater{},
                    [](const Image& image) { return image.architecture.version; });
  return images;
}

}  // namespace

std::vector<Image> read_images(const void* code) {
  const char* bytes = static_cast<const char*>(code);
  std::uint32_t magic = 0;
  std::memcpy(&magic, bytes, std::min(sizeof magic, std::strlen(bytes)));
  if (magic == fatbin_magic) return read_fatbin(bytes);
  const bool is_elf = std::strncmp(bytes, ELFMAG, SELFMAG) == 0;
  auto image = is_elf ? read_cubin(whole_cubin(bytes)) : read_ptx(bytes);
  return image ? std::vector{std::move(*image)} : std::vector<Image>{};
}

bool runs_on(const Image& image, int device) {
  const auto& [version, suffix, real] = image.architecture;
  if (suffix == 'a') return version == device;
  const bool any_major = image.is_ptx && suffix != 'f';
  return version <= device && (any_major || version / 10 == device / 10);
}

}  // namespace fake
