#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace kiln::vendor {

/// A function that a library imports by name, and what it is to call in its place.
struct ImportReplacement {
  const char* name;
  void* function;
};

/// What replacing the imports of the loaded libraries came to.
struct ReplacedImports {
  std::size_t replaced = 0;  ///< Slots that lead to the replacements now.
  bool complete =
      true;  ///< No slot of these names was left as it was, nor any `unwelcome` one met.
};

/// How many libraries this process has loaded so far, those included that are gone again.
[[nodiscard]] std::uint64_t libraries_ever_loaded();

/// Makes each library of this process whose file's name contains `part` call these functions instead of those that
/// it imports under their names, from now on and for the life of the process: the slots of its tables of
/// imports, and its own tables of functions (ELF: JUMP_SLOT, GLOB_DAT and ABS64 relocations) are written, also where the loader has made them read-only. Nobody
/// else's calls change. `unwelcome` names imports that nothing replaces and that no such library should have.
///
/// Safe to call from any thread and as often as one likes: libraries that are loaded later are found by a
/// later call. To be called while no other thread closes libraries.
[[nodiscard]] ReplacedImports replace_imports(std::string_view part,
                                              std::span<const ImportReplacement> replacements,
                                              std::span<const char* const> unwelcome);

}  // namespace kiln::vendor
