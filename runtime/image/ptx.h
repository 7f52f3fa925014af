#pragma once

#include <string_view>
#include <vector>

namespace kiln {

/// One definition of a PTX text that other texts can see.
struct PtxDefinition {
  std::string_view name;
  bool is_kernel = false;
  bool is_weak = false;  ///< May be defined elsewhere too; the linker takes one.
};

/// The visible and weak kernels, functions and variables that a text defines, in their order; no
/// declarations. Views into the text. Total on any input: what is no such directive is skipped.
[[nodiscard]] std::vector<PtxDefinition> read_ptx(std::string_view text);

}  // namespace kiln
