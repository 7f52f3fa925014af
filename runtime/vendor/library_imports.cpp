#include "vendor/library_imports.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <mutex>
#include <string_view>
#include <variant>

#include "system/no_fork.h"

namespace kiln::vendor {

namespace {

#if defined(__aarch64__)
constexpr std::uint32_t jump_slot = R_AARCH64_JUMP_SLOT;
constexpr std::uint32_t global_data = R_AARCH64_GLOB_DAT;
constexpr std::uint32_t in_table = R_AARCH64_ABS64;
#elif defined(__x86_64__)
constexpr std::uint32_t jump_slot = R_X86_64_JUMP_SLOT;
constexpr std::uint32_t global_data = R_X86_64_GLOB_DAT;
constexpr std::uint32_t in_table = R_X86_64_64;
#else
#error "the relocation types of this processor are not known"
#endif

// The tables of one loaded library that tell what it imports, and where.
struct Imports {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * functions = nullptr;  // DT_JMPREL
  std::size_t function_bytes = 0;
  const ElfW(Rela) * others = nullptr;  // DT_RELA
  std::size_t other_bytes = 0;
};

// glibc has relocated these addresses in place; a loader that has not leaves offsets.
template <class Type>
const Type* address_of(const dl_phdr_info& library, ElfW(Addr) value) {
  const auto address = value < library.dlpi_addr ? library.dlpi_addr + value : value;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): what the dynamic section calls an address.
  return reinterpret_cast<const Type*>(address);
}

Imports imports_of(const dl_phdr_info& library, const ElfW(Dyn) * entry) {
  Imports imports;
  for (; entry->d_tag != DT_NULL; ++entry) {
    const auto value = entry->d_un.d_ptr;
    switch (entry->d_tag) {
      case DT_SYMTAB:
        imports.symbols = address_of<ElfW(Sym)>(library, value);
        break;
      case DT_STRTAB:
        imports.names = address_of<char>(library, value);
        break;
      case DT_JMPREL:
        imports.functions = address_of<ElfW(Rela)>(library, value);
        break;
      case DT_PLTRELSZ:
        imports.function_bytes = entry->d_un.d_val;
        break;
      case DT_RELA:
        imports.others = address_of<ElfW(Rela)>(library, value);
        break;
      case DT_RELASZ:
        imports.other_bytes = entry->d_un.d_val;
        break;
      default:
        break;
    }
  }
  return imports;
}

bool write_slot(void** slot, void* function) {
  if (__atomic_load_n(slot, __ATOMIC_RELAXED) == function) return true;
  const auto page_size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto page = reinterpret_cast<std::uintptr_t>(slot) & ~(page_size - 1);
  // The page stays writable, as it is in the many libraries that are not hardened: the loader may be writing
  // another slot of it. NOLINTNEXTLINE(performance-no-int-to-ptr)
  if (::mprotect(reinterpret_cast<void*>(page), page_size, PROT_READ | PROT_WRITE) != 0)
    return false;
  __atomic_store_n(slot, function, __ATOMIC_RELEASE);
  return true;
}

class Replacer {
 public:
  Replacer(const WhichLibraries& which, std::span<const ImportReplacement> replacements,
           std::span<const char* const> unwelcome)
      : which_(which), replacements_(replacements), unwelcome_(unwelcome) {}

  void visit(const dl_phdr_info& library) {
    if (!is_meant(library)) return;
    for (int index = 0; index < library.dlpi_phnum; ++index) {
      const auto& header = library.dlpi_phdr[index];
      if (header.p_type != PT_DYNAMIC) continue;
      // NOLINTNEXTLINE(performance-no-int-to-ptr)
      const auto* entries = reinterpret_cast<const ElfW(Dyn)*>(library.dlpi_addr + header.p_vaddr);
      const auto imports = imports_of(library, entries);
      if (imports.symbols == nullptr || imports.names == nullptr) continue;
      write_all(library, imports, imports.functions, imports.function_bytes);
      write_all(library, imports, imports.others, imports.other_bytes);
    }
  }

  [[nodiscard]] const ReplacedImports& result() const { return result_; }

 private:
  [[nodiscard]] bool is_meant(const dl_phdr_info& library) const {
    if (const auto* address = std::get_if<std::uintptr_t>(&which_))
      return library.dlpi_addr == *address;
    const std::string_view path = library.dlpi_name;
    const auto name = path.substr(path.rfind('/') + 1);
    return name.find(std::get<std::string_view>(which_)) != std::string_view::npos;
  }

  void write_all(const dl_phdr_info& library, const Imports& imports,
                 const ElfW(Rela) * relocations, std::size_t bytes) {
    if (relocations == nullptr) return;
    for (std::size_t index = 0; index < bytes / sizeof *relocations; ++index) {
      const auto& relocation = relocations[index];
      const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(relocation.r_info));
      if (type != jump_slot && type != global_data && type != in_table) continue;
      const auto& symbol = imports.symbols[ELF64_R_SYM(relocation.r_info)];
      if (symbol.st_shndx != SHN_UNDEF) continue;
      // NOLINTNEXTLINE(performance-no-int-to-ptr)
      auto* const slot = reinterpret_cast<void**>(library.dlpi_addr + relocation.r_offset);
      write(imports.names + symbol.st_name, slot);
    }
  }

  void write(std::string_view name, void** slot) {
    for (const auto& replacement : replacements_) {
      if (name != replacement.name) continue;
      const bool done = write_slot(slot, replacement.function);
      result_.replaced += done ? 1 : 0;
      result_.complete &= done;
      return;
    }
    for (const auto* other : unwelcome_) result_.complete &= name != other;
  }

  const WhichLibraries which_;
  const std::span<const ImportReplacement> replacements_;
  const std::span<const char* const> unwelcome_;
  ReplacedImports result_;
};

}  // namespace

std::uint64_t libraries_ever_loaded() {
  std::uint64_t count = 0;
  const system::NoFork no_fork;  // A child would find the loader's own lock taken, for good.
  ::dl_iterate_phdr(
      [](dl_phdr_info* library, std::size_t, void* data) {
        *static_cast<std::uint64_t*>(data) = library->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

ReplacedImports replace_imports(const WhichLibraries& which,
                                std::span<const ImportReplacement> replacements,
                                std::span<const char* const> unwelcome) {
  static std::mutex mutex;
  const system::NoFork no_fork;
  const std::lock_guard lock(mutex);
  Replacer replacer(which, replacements, unwelcome);
  ::dl_iterate_phdr(
      [](dl_phdr_info* library, std::size_t, void* data) {
        static_cast<Replacer*>(data)->visit(*library);
        return 0;
      },
      &replacer);
  return replacer.result();
}

}  // namespace kiln::vendor
