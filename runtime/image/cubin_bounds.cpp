#include "image/cubin_bounds.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "image/elf_parts.h"

namespace kiln {
namespace {

using elf::Attribute;
using elf::read;
using elf::Section;
using elf::slice;

/// How many times as large as the image its sections may be all together. In a crafted image all may lie on
/// the same bytes; in a compiler's, few do.
constexpr std::uint64_t most_of_sections = 16;

constexpr std::uint32_t mercury_flags = 3;  // Of e_flags.
constexpr unsigned char first_version_with_mercury = 8;
constexpr std::uint32_t symbol_of_code = 0xffffff;  // Of sh_info.

/// Below are ELF's own and from 0x10000 on Mercury's, some hundred of each. They index a table of the linker's.
constexpr std::uint32_t most_relocation_kinds = 0x20000;

// Of `.nv.callgraph`: what begins a part. The types of functions are in the last two.
constexpr std::uint32_t first_part = 0xfffffffc;
constexpr std::uint32_t typed_calls = 0xfffffffd;
constexpr std::uint32_t typed_functions = 0xfffffffe;

constexpr std::uint32_t tool_info_note = 2000;
constexpr std::uint32_t tool_info_version = 2;

/// Calls visit(entry) for each entry of a table, until it answers false; false when it did or the last one is cut.
template <class Entry, class Visit>
bool for_each_entry(std::string_view table, Visit visit) {
  for (std::uint64_t at = 0; at < table.size(); at += sizeof(Entry)) {
    const auto entry = read<Entry>(table, at);
    if (!entry || !visit(*entry)) return false;
  }
  return true;
}

bool is_symbols(const Elf64_Shdr& header) {
  return header.sh_type == SHT_SYMTAB || header.sh_type == elf::mercury_symbols_type;
}

bool is_code(const Elf64_Shdr& header) {
  return (header.sh_flags & SHF_EXECINSTR) != 0 || header.sh_type == elf::mercury_code_type;
}

/// Whether there is such a kind of relocation, and what it writes is inside the section.
bool is_inside(const Elf64_Shdr& section, std::uint64_t offset, std::uint32_t kind) {
  if (kind >= most_relocation_kinds) return false;
  if (section.sh_type == elf::mercury_code_type) return true;
  const bool is_long = is_code(section) || kind == 2 || kind == 4;
  const std::uint64_t size = is_long ? 8 : 4;
  return size <= section.sh_size && offset <= section.sh_size - size;
}

bool is_list_of_strings(std::string_view bytes) { return !bytes.empty() && bytes.back() == '\0'; }

bool is_tool_info(std::string_view description) {
  struct Header {
    std::uint32_t version;
    std::uint32_t strings[5];
  };
  const auto header = read<Header>(description, 0);
  if (!header) return false;
  if (header->version != tool_info_version) return true;
  const auto strings = description.substr(sizeof(Header));
  return is_list_of_strings(strings) &&
         std::ranges::all_of(header->strings, [&](auto at) { return at < strings.size(); });
}

/// The bytes of this size at an offset that is then beyond them and what aligns the next to words.
std::optional<std::string_view> take(std::string_view bytes, std::uint64_t& offset,
                                     std::uint64_t size) {
  const auto taken = slice(bytes, offset, size);
  offset += (size + 3) / 4 * 4;
  return taken;
}

bool notes_hold(std::string_view notes) {
  for (std::uint64_t at = 0; at < notes.size();) {
    const auto header = read<Elf64_Nhdr>(notes, at);
    if (!header) return false;
    at += sizeof(Elf64_Nhdr);
    const auto name = take(notes, at, header->n_namesz);
    const auto description = take(notes, at, header->n_descsz);
    if (!name || !description) return false;
    if (header->n_type == tool_info_note && !is_tool_info(*description)) return false;
  }
  return true;
}

struct Pair {
  std::uint32_t symbol;
  std::uint32_t second;
};

struct Symbols {
  std::uint64_t count = 0;
  std::string_view names;
};

class Bounds {
 public:
  Bounds(std::string_view image, const Elf64_Ehdr& header, std::vector<Section> sections)
      : image_(image), header_(header), sections_(std::move(sections)) {}

  bool hold() {
    return is_bounded_work() && find_symbols() && mercury_holds() && segments_hold() &&
           is_list_of_strings(strings_of(header_.e_shstrndx)) &&
           std::ranges::all_of(sections_, [&](const Section& section) {
             return header_holds(section.header) && contents_hold(section);
           });
  }

 private:
  bool is_bounded_work() const {
    std::uint64_t bytes = 0;
    for (const Section& section : sections_) bytes += section.bytes.size();
    return bytes <= most_of_sections * image_.size();
  }

  /// False where there are two tables of a kind, since a reader may take either.
  bool find_symbols() {
    for (const auto& [header, bytes] : sections_) {
      if (!is_symbols(header)) continue;
      Symbols& found = header.sh_type == SHT_SYMTAB ? symbols_ : mercury_symbols_;
      if (found.count > 0 || header.sh_link >= sections_.size()) return false;
      found = {bytes.size() / sizeof(Elf64_Sym), strings_of(header.sh_link)};
    }
    return true;
  }

  bool mercury_holds() const {
    return header_.e_ident[EI_ABIVERSION] < first_version_with_mercury ||
           (header_.e_flags & mercury_flags) == 0 || mercury_symbols_.count > 0;
  }

  bool segments_hold() const {
    if (header_.e_phnum == 0) return true;
    const auto table = slice(image_, header_.e_phoff, header_.e_phnum * sizeof(Elf64_Phdr));
    return table && header_.e_phentsize == sizeof(Elf64_Phdr) &&
           for_each_entry<Elf64_Phdr>(*table, [&](const Elf64_Phdr& segment) {
             return slice(image_, segment.p_offset, segment.p_filesz) &&
                    segment.p_filesz <= segment.p_memsz;
           });
  }

  bool header_holds(const Elf64_Shdr& header) const {
    return header.sh_name < strings_of(header_.e_shstrndx).size() &&
           header.sh_offset <= image_.size() && header.sh_link < sections_.size() &&
           info_holds(header);
  }

  bool info_holds(const Elf64_Shdr& header) const {
    if (is_symbols(header)) return header.sh_info <= symbols_for(header).count;
    if (is_code(header)) return (header.sh_info & symbol_of_code) < symbols_for(header).count;
    if (header.sh_type == SHT_GROUP) return header.sh_info < symbols_.count;
    return header.sh_info < sections_.size();
  }

  bool contents_hold(const Section& section) const {
    switch (section.header.sh_type) {
      case SHT_SYMTAB:
      case elf::mercury_symbols_type:
        return symbols_hold(section);
      case SHT_REL:
        return relocations_hold<Elf64_Rel>(section);
      case SHT_RELA:
      case elf::mercury_relocations_type:
        return relocations_hold<Elf64_Rela>(section);
      case SHT_NOTE:
        return notes_hold(section.bytes);
      case elf::info_type:
      case elf::mercury_info_type:
        return attributes_hold(section);
      case elf::compat_type:
        return elf::for_each_attribute(section.bytes, [](const Attribute&) { return true; });
      case elf::call_graph_type:
        return call_graph_holds(section.bytes);
      case elf::prototype_type:
        return prototypes_hold(section.bytes);
      default:
        return true;
    }
  }

  /// Of a section that is a list of strings; empty for another.
  std::string_view strings_of(std::uint32_t index) const {
    const Section& section = sections_[index];
    return section.header.sh_type == SHT_STRTAB ? section.bytes : std::string_view();
  }

  const Symbols& symbols_for(const Elf64_Shdr& header) const {
    switch (header.sh_type) {
      case elf::mercury_code_type:
      case elf::mercury_relocations_type:
      case elf::mercury_info_type:
      case elf::mercury_symbols_type:
        return mercury_symbols_;
      default:
        return symbols_;
    }
  }

  bool symbols_hold(const Section& table) const {
    const std::string_view names = symbols_for(table.header).names;
    return table.header.sh_entsize == sizeof(Elf64_Sym) && is_list_of_strings(names) &&
           for_each_entry<Elf64_Sym>(table.bytes, [&](const Elf64_Sym& symbol) {
             return symbol.st_name < names.size() && place_holds(symbol);
           });
  }

  bool place_holds(const Elf64_Sym& symbol) const {
    const auto index = symbol.st_shndx;
    if (index == SHN_UNDEF || index == SHN_ABS || index == SHN_COMMON) return true;
    if (index >= sections_.size()) return false;
    const auto& [header, bytes] = sections_[index];
    // What is only set aside may be larger than its section, since the linker lays it out.
    return !elf::has_bytes(header) || header.sh_type == elf::mercury_code_type ||
           slice(bytes, symbol.st_value, symbol.st_size);
  }

  template <class Relocation>
  bool relocations_hold(const Section& section) const {
    const Elf64_Shdr& header = section.header;
    if (header.sh_entsize != sizeof(Relocation)) return false;
    if (header.sh_info == 0 || header.sh_info >= sections_.size()) return false;
    const Elf64_Shdr& target = sections_[header.sh_info].header;
    const auto symbols = symbols_for(header).count;
    return for_each_entry<Relocation>(section.bytes, [&](const Relocation& relocation) {
      return ELF64_R_SYM(relocation.r_info) < symbols &&
             is_inside(target, relocation.r_offset, ELF64_R_TYPE(relocation.r_info));
    });
  }

  bool attributes_hold(const Section& section) const {
    const auto symbols = symbols_for(section.header).count;
    return elf::for_each_attribute(section.bytes, [&](const Attribute& attribute) {
      const auto is_symbol = [&](std::uint32_t index) { return index < symbols; };
      switch (attribute.id) {
        case elf::parameter_bank_id:
        case elf::frame_size_id:
        case elf::stack_size_id:
        case elf::largest_stack_id:
        case elf::register_count_id: {
          const auto pair = read<Pair>(attribute.payload, 0);
          return pair && is_symbol(pair->symbol);
        }
        case elf::max_threads_id:
        case elf::required_threads_id:
        case elf::parameter_id:
        case elf::large_parameter_id:
          return attribute.payload.size() >= 3 * sizeof(std::uint32_t);
        case elf::externals_id:
          return for_each_entry<std::uint32_t>(attribute.payload, is_symbol);
        default:
          return true;
      }
    });
  }

  bool call_graph_holds(std::string_view pairs) const {
    std::uint32_t part = 0;
    return for_each_entry<Pair>(pairs, [&](const Pair& pair) {
      const bool begins_part = pair.second >= first_part;
      if (begins_part) part = pair.second;
      const bool is_typed = part == typed_functions || part == typed_calls;
      return pair.symbol < symbols_.count &&
             (begins_part || pair.second < (is_typed ? symbols_.names.size() : symbols_.count));
    });
  }

  bool prototypes_hold(std::string_view pairs) const {
    return for_each_entry<Pair>(pairs, [&](const Pair& pair) {
      return pair.symbol < symbols_.count && pair.second < symbols_.names.size();
    });
  }

  std::string_view image_;
  Elf64_Ehdr header_;
  std::vector<Section> sections_;
  Symbols symbols_;
  Symbols mercury_symbols_;
};

}  // namespace

bool is_within_bounds(std::string_view cubin) {
  const auto header = elf::read_header(cubin);
  auto sections = header ? elf::read_sections(cubin, *header) : std::nullopt;
  return sections && Bounds(cubin, *header, std::move(*sections)).hold();
}

}  // namespace kiln
