#pragma once

#include <cstddef>
#include <set>
#include <string_view>
#include <vector>

#include "source/directives.h"
#include "source/header_files.h"

namespace kiln {

/// Tells whether what is given a place computes with it, in a kernel or while the kernel is compiled: then no image shows the
/// place, and each place makes another one. It reports it where it has no text, such as printf(), or where it gives it, whole,
/// to such a one, to a stream or to nobody. Where that cannot be told, it computes. (NVRTC takes no functions of the host.)
/// Borrows all; for one thread.
class PathTakers {
 public:
  /// The program's own texts, and the macros of its options.
  PathTakers(std::vector<const HeaderText*> texts, const MacroBodies& of_options);

  [[nodiscard]] bool compute(const PathTaker& taker);

 private:
  /// Where a parameter that stands for a place is used.
  struct Use {
    std::string_view text;
    std::size_t at;
    std::string_view name;
    std::size_t offset;      ///< The place's position in what a variadic parameter stands for.
    const MacroBody* macro;  ///< Whose text it is; nullptr for that of a function.
  };

  [[nodiscard]] bool macros_compute(const PathTaker& taker);
  [[nodiscard]] bool computes(const MacroBody& macro, const PathTaker& taker);
  [[nodiscard]] bool text_computes(std::string_view text, const PathTaker& taker);
  [[nodiscard]] bool function_computes(std::string_view text, const PathTaker& taker);
  [[nodiscard]] bool use_computes(const Use& use);

  const std::vector<const HeaderText*> texts_;
  std::vector<const MacroBodies*> macros_;
  std::set<PathTaker> asked_;  ///< Of which one that goes round in circles need not be asked again.
};

}  // namespace kiln
