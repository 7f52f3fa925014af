#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

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

/// Replaces imports in each library of this process whose file's name contains `part`: for the life of the
/// process the library calls these functions instead of those that it imports under their names. Writes the
/// slots of its tables of imports, and its own tables of functions (ELF: JUMP_SLOT, GLOB_DAT and ABS64
/// relocations), also where the loader has made them read-only. Calls of other libraries do not change.
/// `unwelcome` names imports that nothing replaces and that no such library should have.
///
/// Safe to call from any thread, and again: a later call finds libraries that were loaded since. Call it
/// while no other thread closes libraries.
[[nodiscard]] ReplacedImports replace_imports(std::string_view part,
                                              std::span<const ImportReplacement> replacements,
                                              std::span<const char* const> unwelcome);

}  // namespace kiln::vendor
