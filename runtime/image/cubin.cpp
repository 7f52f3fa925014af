#include "image/cubin.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <type_traits>
#include <utility>

namespace kiln {
namespace {

constexpr unsigned char kernel_symbol = 0x10;    // A bit of st_other.
constexpr std::uint32_t reserved_shared = 1024;  // Per block, from sm_90 on.
constexpr std::uint32_t max_parameter_bytes = 32764;

/// How many times the image's size may be read in all. A compiler's image is read once. But in a crafted
/// image all names and sections may lie on the same bytes, and any number of kernels may name one section.
constexpr std::uint64_t most_readings = 16;

enum class AttributeFormat : std::uint8_t { none = 1, byte = 2, half = 3, payload = 4 };

enum AttributeId : std::uint8_t {
  exact_device_id = 0x09,
  frame_size_id = 0x11,
  stack_size_id = 0x12,
  parameter_id = 0x17,
  register_count_id = 0x2f,
  large_parameter_id = 0x45,
};

struct Attribute {
  std::uint8_t id;
  std::uint16_t value;       ///< The payload's size where there is one.
  std::string_view payload;  ///< Empty for the other formats.
};

std::optional<std::string_view> slice(std::string_view bytes, std::uint64_t offset,
                                      std::uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
  return bytes.substr(offset, size);
}

/// The value at this offset, which need not be aligned.
template <class T>
std::optional<T> read(std::string_view bytes, std::uint64_t offset) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto found = slice(bytes, offset, sizeof(T));
  if (!found) return std::nullopt;
  T value;
  std::memcpy(&value, found->data(), sizeof(T));
  return value;
}

/// The NUL-terminated text at this offset.
std::optional<std::string_view> read_text(std::string_view bytes, std::uint64_t offset) {
  if (offset >= bytes.size()) return std::nullopt;
  const std::string_view rest = bytes.substr(offset);
  const std::size_t end = rest.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  return rest.substr(0, end);
}

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

struct Section {
  Elf64_Shdr header;
  std::string_view bytes;  ///< Empty for one that takes no room in the file.
};

struct Symbol {
  std::uint32_t index;
  std::string_view name;
};

/// What `.nv.info` holds of one function.
struct FunctionFacts {
  std::uint32_t registers = 0;
  std::uint32_t frame_size = 0;
  std::optional<std::uint32_t> stack_size;  ///< Absent where a recursion makes it unknowable.
};

struct NumberedParameter {
  std::uint16_t ordinal;
  Parameter parameter;
};

class Reader {
 public:
  explicit Reader(std::string_view image) : image_(image), left_(most_readings * image.size()) {}

  std::optional<CubinInfo> read_all() {
    const auto header = read<Elf64_Ehdr>(image_, 0);
    if (!header || !is_cubin(*header) || !read_sections(*header)) return std::nullopt;
    CubinInfo info;
    info.relocatable = header->e_type == ET_REL;
    if (!read_arch(*header, info) || !read_functions()) return std::nullopt;
    const auto symbols = read_symbols(info);
    if (!symbols) return std::nullopt;
    for (const Symbol& symbol : *symbols) {
      auto kernel = read_kernel(symbol, info.arch);
      if (!kernel) return std::nullopt;
      info.kernels.push_back(std::move(*kernel));
    }
    return info;
  }

 private:
  static bool is_cubin(const Elf64_Ehdr& header) {
    return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
           header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
           header.e_machine == EM_CUDA && header.e_shentsize == sizeof(Elf64_Shdr);
  }

  /// False when too much was looked at.
  bool spend(std::size_t bytes) const {
    const bool enough = bytes <= left_;
    left_ = enough ? left_ - bytes : 0;
    return enough;
  }

  std::optional<std::string_view> read_name(std::string_view names, std::uint64_t offset) const {
    const auto name = read_text(names, offset);
    return name && spend(name->size() + 1) ? name : std::nullopt;
  }

  template <class Visit>
  bool for_each_attribute_of(const Section& section, Visit visit) const {
    return spend(section.bytes.size()) && for_each_attribute(section.bytes, visit);
  }

  bool read_sections(const Elf64_Ehdr& header) {
    const auto table = slice(image_, header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr));
    if (!table || header.e_shstrndx >= header.e_shnum) return false;
    for (std::size_t at = 0; at < table->size(); at += sizeof(Elf64_Shdr)) {
      const auto section = *read<Elf64_Shdr>(*table, at);
      const std::uint64_t size = section.sh_type == SHT_NOBITS ? 0 : section.sh_size;
      const auto bytes = slice(image_, size == 0 ? 0 : section.sh_offset, size);
      if (!bytes) return false;
      sections_.push_back({section, *bytes});
    }
    const std::string_view names = sections_[header.e_shstrndx].bytes;
    for (const Section& section : sections_) {
      const auto name = read_name(names, section.header.sh_name);
      if (!name) return false;
      by_name_.emplace(*name, &section);
    }
    return true;
  }

  const Section* find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
  }

  bool read_arch(const Elf64_Ehdr& header, CubinInfo& info) const {
    if (header.e_ident[EI_ABIVERSION] < 8) {
      info.arch = header.e_flags & 0xff;
      info.exact_device = (header.e_flags & 0x800) != 0;
      return true;
    }
    info.arch = (header.e_flags >> 8) & 0xff;
    const Section* compat = find(".nv.compat");
    return compat == nullptr || for_each_attribute_of(*compat, [&](const Attribute& attribute) {
             if (attribute.id == exact_device_id) info.exact_device = attribute.value == 1;
             return true;
           });
  }

  bool read_functions() {
    const Section* info = find(".nv.info");
    return info == nullptr || for_each_attribute_of(*info, [&](const Attribute& attribute) {
             return read_function_fact(attribute);
           });
  }

  bool read_function_fact(const Attribute& attribute) {
    if (attribute.id != register_count_id && attribute.id != frame_size_id &&
        attribute.id != stack_size_id) {
      return true;
    }
    const auto symbol = read<std::uint32_t>(attribute.payload, 0);
    const auto value = read<std::uint32_t>(attribute.payload, 4);
    if (!symbol || !value) return false;
    FunctionFacts& facts = functions_[*symbol];
    if (attribute.id == register_count_id) facts.registers = *value;
    if (attribute.id == frame_size_id) facts.frame_size = *value;
    // NVRTC 12 writes all ones for what NVRTC 13 leaves out.
    if (attribute.id == stack_size_id && *value != ~std::uint32_t{0}) facts.stack_size = *value;
    return true;
  }

  static bool is_definition(const Elf64_Sym& symbol) {
    const auto type = ELF64_ST_TYPE(symbol.st_info);
    return symbol.st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_OBJECT);
  }

  /// The kernels' symbols; what is defined goes into `info`.
  std::optional<std::vector<Symbol>> read_symbols(CubinInfo& info) const {
    const Section* table = find(".symtab");
    if (table == nullptr || table->header.sh_link >= sections_.size()) return std::nullopt;
    const std::string_view names = sections_[table->header.sh_link].bytes;
    std::vector<Symbol> kernels;
    const std::size_t count = table->bytes.size() / sizeof(Elf64_Sym);
    for (std::size_t index = 0; index < count; ++index) {
      const auto symbol = *read<Elf64_Sym>(table->bytes, index * sizeof(Elf64_Sym));
      const bool is_kernel =
          ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && (symbol.st_other & kernel_symbol) != 0;
      if (!is_kernel && !is_definition(symbol)) continue;
      const auto name = read_name(names, symbol.st_name);
      if (!name) return std::nullopt;
      if (is_kernel) kernels.push_back({static_cast<std::uint32_t>(index), *name});
      if (!is_definition(symbol)) continue;
      const bool is_strong = ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL;
      (is_strong ? info.definitions : info.others).emplace_back(*name);
    }
    return kernels;
  }

  std::optional<KernelInfo> read_kernel(const Symbol& symbol, std::uint32_t arch) const {
    KernelInfo kernel{.symbol = std::string(symbol.name), .params_known = true};
    const auto shared = shared_bytes(kernel.symbol, arch);
    auto params = parameters(kernel.symbol);
    if (!shared || !params) return std::nullopt;
    kernel.shared_bytes = *shared;
    kernel.params = std::move(*params);
    if (const auto found = functions_.find(symbol.index); found != functions_.end()) {
      const FunctionFacts& facts = found->second;
      kernel.registers = facts.registers;
      kernel.local_bytes = facts.stack_size.value_or(facts.frame_size);
    }
    return kernel;
  }

  std::optional<std::uint32_t> shared_bytes(const std::string& symbol, std::uint32_t arch) const {
    const Section* section = find(".nv.shared." + symbol);
    if (section == nullptr) return 0;
    const std::uint64_t size = section->header.sh_size;
    if (size > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    const std::uint32_t reserved = arch >= 90 ? reserved_shared : 0;
    return static_cast<std::uint32_t>(size) - std::min(static_cast<std::uint32_t>(size), reserved);
  }

  std::optional<std::vector<Parameter>> parameters(const std::string& symbol) const {
    const Section* section = find(".nv.info." + symbol);
    if (section == nullptr) return std::nullopt;
    std::vector<NumberedParameter> found;
    const bool sound = for_each_attribute_of(*section, [&](const Attribute& attribute) {
      if (attribute.id != parameter_id && attribute.id != large_parameter_id) return true;
      const auto ordinal = read<std::uint16_t>(attribute.payload, 4);
      const auto offset = read<std::uint16_t>(attribute.payload, 6);
      const auto size = read<std::uint32_t>(attribute.payload, 8);
      if (!ordinal || !offset || !size) return false;
      const bool large = attribute.id == large_parameter_id;
      found.push_back({*ordinal, {*offset, large ? *size & 0xffff : *size >> 18}});
      return true;
    });
    if (!sound) return std::nullopt;
    return in_order(std::move(found));
  }

  /// The parameters by position; nothing when one is missing, twice there, or reaches into another.
  static std::optional<std::vector<Parameter>> in_order(std::vector<NumberedParameter> found) {
    std::sort(found.begin(), found.end(),
              [](const auto& left, const auto& right) { return left.ordinal < right.ordinal; });
    std::vector<Parameter> params;
    std::uint32_t end = 0;
    for (const auto& [ordinal, parameter] : found) {
      if (ordinal != params.size() || parameter.offset < end) return std::nullopt;
      if (parameter.size > max_parameter_bytes - std::min(parameter.offset, max_parameter_bytes)) {
        return std::nullopt;
      }
      end = parameter.offset + parameter.size;
      params.push_back(parameter);
    }
    return params;
  }

  std::string_view image_;
  std::vector<Section> sections_;
  mutable std::uint64_t left_;  ///< Bytes that may still be looked at.
  // Ordered and not hashed, since names that hash alike can be crafted too.
  std::map<std::string_view, const Section*> by_name_;
  std::map<std::uint32_t, FunctionFacts> functions_;
};

}  // namespace

std::optional<CubinInfo> read_cubin(std::string_view image) { return Reader(image).read_all(); }

}  // namespace kiln
