#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

namespace kiln::vendor {

/// A function that a library imports by name, and what it is to call instead.
struct ImportReplacement {
  const char* name;
  void* function;
};

/// The result of replace_imports().
struct ReplacedImports {
  std::size_t replaced = 0;  ///< Slots that lead to the replacements now.
  bool complete =
      true;  ///< Every slot of these names was replaced, and no `unwelcome` import was met.
};

/// How many libraries this process has loaded so far, including those that are gone again.
[[nodiscard]] std::uint64_t libraries_ever_loaded();

/// Which libraries: those whose file's name contains this, or the one that lies at this address (as SharedLibrary tells it).
using WhichLibraries = std::variant<std::string_view, std::uintptr_t>;

/// Replaces imports in these libraries of this process: for the life of the process they call these functions instead of
/// those that they import under their names. Writes the slots of their tables of imports, and their own tables of functions
/// (ELF: JUMP_SLOT, GLOB_DAT and ABS64 relocations), also where the loader has made them read-only. Calls of other libraries
/// do not change.
/// `unwelcome` names imports that nothing replaces and that no such library should have.
///
/// Safe to call from any thread, and again: a later call finds libraries that were loaded since. Call it
/// while no other thread closes libraries.
[[nodiscard]] ReplacedImports replace_imports(const WhichLibraries& which,
                                              std::span<const ImportReplacement> replacements,
                                              std::span<const char* const> unwelcome);

}  // namespace kiln::vendor
