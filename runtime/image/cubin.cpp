#include "image/cubin.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "image/elf_parts.h"

namespace kiln {
namespace {

using elf::Attribute;
using elf::for_each_attribute;
using elf::read;
using elf::read_text;
using elf::Section;

constexpr unsigned char kernel_symbol = 0x10;    // A bit of st_other.
constexpr std::uint32_t reserved_shared = 1024;  // Per block, from sm_90 on, once linked.
constexpr std::uint32_t max_parameter_bytes = 32764;

/// How many times the image's size may be read in all. A compiler's image is read once. But in a crafted
/// image all names and sections may lie on the same bytes, and any number of kernels may name one section.
constexpr std::uint64_t most_readings = 16;

constexpr std::uint32_t first_version_with_annotations = 126;
constexpr std::uint32_t spill_annotation = 1;

struct Symbol {
  std::uint32_t index;
  std::string_view name;
  std::uint32_t section;
  std::uint64_t offset;  ///< In that section.
};

/// The low bits of an instruction's operation; the others say where its operands come from.
enum class Operation : std::uint16_t {
  load_local = 0x183,
  load_shared = 0x184,
  store_local = 0x187,
  store_shared = 0x188,
};

/// How many bytes each thread moves; nothing for an instruction that does not say. Its second half holds it.
std::optional<std::uint32_t> bytes_moved(std::uint64_t second_half) {
  constexpr std::array<std::uint32_t, 7> widths{1, 1, 2, 2, 4, 8, 16};
  const auto width = (second_half >> 9) & 7;
  return width < widths.size() ? std::optional(widths[width]) : std::nullopt;
}

/// Adds what one instruction spills or refills. False for an instruction that can do neither.
bool add_spill(std::string_view code, std::uint64_t offset, Spills& spills) {
  const auto first_half = read<std::uint64_t>(code, offset);
  const auto second_half = read<std::uint64_t>(code, offset + sizeof(std::uint64_t));
  const auto bytes = second_half ? bytes_moved(*second_half) : std::nullopt;
  if (!first_half || !bytes) return false;
  switch (static_cast<Operation>(*first_half & 0x1ff)) {
    case Operation::store_local:
      spills.store_bytes += *bytes;
      return true;
    case Operation::load_local:
      spills.load_bytes += *bytes;
      return true;
    case Operation::store_shared:
    case Operation::load_shared:
      return true;  // Costs shared memory, which is counted there.
  }
  return false;
}

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
    const auto header = elf::read_header(image_);
    if (!header || !read_sections(*header)) return std::nullopt;
    CubinInfo info;
    info.relocatable = header->e_type == ET_REL;
    if (!read_arch(*header, info) || !read_functions()) return std::nullopt;
    const auto symbols = read_symbols(info);
    if (!symbols) return std::nullopt;
    for (const Symbol& symbol : *symbols) {
      auto kernel = read_kernel(symbol, info);
      if (!kernel) return std::nullopt;
      info.code.push_back(read_code(symbol, *kernel));
      info.kernels.push_back(std::move(*kernel));
    }
    return info;
  }

 private:
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
    auto sections = elf::read_sections(image_, header);
    if (!sections) return false;
    sections_ = std::move(*sections);
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
             if (attribute.id == elf::exact_device_id) info.exact_device = attribute.value == 1;
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
    if (attribute.id != elf::register_count_id && attribute.id != elf::frame_size_id &&
        attribute.id != elf::stack_size_id) {
      return true;
    }
    const auto symbol = read<std::uint32_t>(attribute.payload, 0);
    const auto value = read<std::uint32_t>(attribute.payload, 4);
    if (!symbol || !value) return false;
    FunctionFacts& facts = functions_[*symbol];
    if (attribute.id == elf::register_count_id) facts.registers = *value;
    if (attribute.id == elf::frame_size_id) facts.frame_size = *value;
    // NVRTC 12 writes all ones for what NVRTC 13 leaves out.
    if (attribute.id == elf::stack_size_id && *value != ~std::uint32_t{0})
      facts.stack_size = *value;
    return true;
  }

  static bool is_definition(const Elf64_Sym& symbol) {
    const auto type = ELF64_ST_TYPE(symbol.st_info);
    return symbol.st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_OBJECT);
  }

  /// The kernels' symbols; what is defined goes into `info`.
  std::optional<std::vector<Symbol>> read_symbols(CubinInfo& info) {
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
      if (is_kernel) {
        kernels.push_back(
            {static_cast<std::uint32_t>(index), *name, symbol.st_shndx, symbol.st_value});
      }
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC)
        functions_begin_.emplace(symbol.st_shndx, symbol.st_value);
      if (!is_definition(symbol)) continue;
      const bool is_strong = ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL;
      (is_strong ? info.definitions : info.others).emplace_back(*name);
    }
    return kernels;
  }

  std::optional<KernelInfo> read_kernel(const Symbol& symbol, const CubinInfo& info) const {
    KernelInfo kernel{.symbol = std::string(symbol.name), .params_known = true};
    const auto shared = shared_bytes(kernel.symbol, info);
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

  /// Whatever is not as expected is not known: the kernel runs all the same.
  KernelCode read_code(const Symbol& symbol, const KernelInfo& kernel) const {
    KernelCode code;
    const Section* text = find(".text." + kernel.symbol);
    if (text == nullptr) return code;
    code.bytes = text->bytes.size();
    code.spills = read_spills(symbol, *text);
    if (!code.spills && kernel.local_bytes == 0) code.spills = Spills();
    code.max_threads = read_max_threads(kernel.symbol);
    return code;
  }

  std::optional<std::uint64_t> read_max_threads(const std::string& symbol) const {
    const Section* section = find(".nv.info." + symbol);
    std::optional<std::uint64_t> threads;
    if (section == nullptr) return threads;
    const bool known = for_each_attribute_of(*section, [&](const Attribute& attribute) {
      if (attribute.id != elf::max_threads_id && attribute.id != elf::required_threads_id)
        return true;
      std::uint64_t product = 1;
      for (std::size_t at = 0; at < 3; ++at) {
        const auto extent = read<std::uint32_t>(attribute.payload, at * sizeof(std::uint32_t));
        // No block is as large as one extent may be.
        if (!extent || *extent > 1024) return false;
        product *= *extent;
      }
      threads = std::min(product, threads.value_or(product));
      return true;
    });
    return known ? threads : std::nullopt;
  }

  std::optional<Spills> read_spills(const Symbol& symbol, const Section& text) const {
    const Section* section = find(".nv.info." + std::string(symbol.name));
    Spills spills;
    std::uint32_t version = 0;
    const bool known =
        section != nullptr && for_each_attribute_of(*section, [&](const auto& attribute) {
          if (attribute.id == elf::cuda_version_id)
            version = read<std::uint32_t>(attribute.payload, 0).value_or(0);
          return attribute.id != elf::annotations_id ||
                 add_annotated(symbol, text, attribute.payload, spills);
        });
    return known && version >= first_version_with_annotations ? std::optional(spills)
                                                              : std::nullopt;
  }

  bool add_annotated(const Symbol& symbol, const Section& text, std::string_view annotations,
                     Spills& spills) const {
    for (std::size_t at = 0; at < annotations.size(); at += 2 * sizeof(std::uint32_t)) {
      const auto kind = read<std::uint32_t>(annotations, at);
      const auto offset = read<std::uint32_t>(annotations, at + sizeof(std::uint32_t));
      if (!kind || !offset) return false;
      const bool counts = *kind == spill_annotation && is_of(symbol, *offset);
      if (counts && !add_spill(text.bytes, *offset, spills)) return false;
    }
    return true;
  }

  /// Whether what stands there is the kernel's own. An instruction is of the last function that begins before it.
  bool is_of(const Symbol& symbol, std::uint64_t offset) const {
    const auto next = functions_begin_.upper_bound({symbol.section, offset});
    return next != functions_begin_.begin() &&
           *std::prev(next) == std::pair(symbol.section, symbol.offset);
  }

  std::optional<std::uint32_t> shared_bytes(const std::string& symbol,
                                            const CubinInfo& info) const {
    const Section* section = find(".nv.shared." + symbol);
    if (section == nullptr) return 0;
    const std::uint64_t size = section->header.sh_size;
    if (size > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    const std::uint32_t reserved = info.arch >= 90 && !info.relocatable ? reserved_shared : 0;
    return static_cast<std::uint32_t>(size) - std::min(static_cast<std::uint32_t>(size), reserved);
  }

  std::optional<std::vector<Parameter>> parameters(const std::string& symbol) const {
    const Section* section = find(".nv.info." + symbol);
    if (section == nullptr) return std::nullopt;
    std::vector<NumberedParameter> found;
    const bool sound = for_each_attribute_of(*section, [&](const Attribute& attribute) {
      if (attribute.id != elf::parameter_id && attribute.id != elf::large_parameter_id) return true;
      const auto ordinal = read<std::uint16_t>(attribute.payload, 4);
      const auto offset = read<std::uint16_t>(attribute.payload, 6);
      const auto size = read<std::uint32_t>(attribute.payload, 8);
      if (!ordinal || !offset || !size) return false;
      const bool large = attribute.id == elf::large_parameter_id;
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
  std::set<std::pair<std::uint32_t, std::uint64_t>>
      functions_begin_;  ///< By section and offset in it.
};

}  // namespace

std::optional<CubinInfo> read_cubin(std::string_view image) { return Reader(image).read_all(); }

}  // namespace kiln
