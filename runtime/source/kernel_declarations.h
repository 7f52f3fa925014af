#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// A kernel that a text declares.
struct KernelDeclaration {
  std::string name;          ///< Without namespaces and arguments.
  bool is_template = false;  ///< So that it is compiled where an expression names an instance.

  bool operator==(const KernelDeclaration&) const = default;
};

/// The kernels that a text declares, in its order and each once, as far as a scan can tell: what macros make of it and which
/// branches are taken, it does not know. For messages alone.
[[nodiscard]] std::vector<KernelDeclaration> kernel_declarations(std::string_view text);

}  // namespace kiln
