#include "image/elf_parts.h"

#include <cstring>

namespace kiln::elf {
namespace {

bool is_cubin(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
         header.e_machine == EM_CUDA && header.e_shentsize == sizeof(Elf64_Shdr);
}

}  // namespace

std::optional<std::string_view> slice(std::string_view bytes, std::uint64_t offset,
                                      std::uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
  return bytes.substr(offset, size);
}

std::optional<std::string_view> read_text(std::string_view bytes, std::uint64_t offset) {
  if (offset >= bytes.size()) return std::nullopt;
  const std::string_view rest = bytes.substr(offset);
  const std::size_t end = rest.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  return rest.substr(0, end);
}

bool has_bytes(const Elf64_Shdr& section) {
  switch (section.sh_type) {
    case SHT_NOBITS:
    case global_type:
    case local_type:
    case shared_type:
    case reserved_shared_type:
      return false;
    default:
      return true;
  }
}

std::optional<Elf64_Ehdr> read_header(std::string_view image) {
  const auto header = read<Elf64_Ehdr>(image, 0);
  return header && is_cubin(*header) ? header : std::nullopt;
}

std::optional<std::vector<Section>> read_sections(std::string_view image,
                                                  const Elf64_Ehdr& header) {
  const auto table = slice(image, header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr));
  if (!table || header.e_shstrndx >= header.e_shnum) return std::nullopt;
  std::vector<Section> sections;
  for (std::size_t at = 0; at < table->size(); at += sizeof(Elf64_Shdr)) {
    const auto section = *read<Elf64_Shdr>(*table, at);
    const std::uint64_t size = has_bytes(section) ? section.sh_size : 0;
    const auto bytes = slice(image, size == 0 ? 0 : section.sh_offset, size);
    if (!bytes) return std::nullopt;
    sections.push_back({section, *bytes});
  }
  return sections;
}

}  // namespace kiln::elf
