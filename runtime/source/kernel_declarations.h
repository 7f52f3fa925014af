#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// A kernel that a text declares.
struct KernelDeclaration {
  std::string name;            ///< Without namespaces and arguments.
  std::string scope = {};      ///< Its namespaces, "a::b::"; those without a name are left out.
  bool is_template = false;    ///< So that it is compiled where an expression names an instance.
  bool has_instances = false;  ///< Of a template: whether the text instantiates or specialises it.
};

/// The kernels that a text declares, in its order and each once, as far as a scan can tell: what macros make of it and which
/// branches are taken, it does not know, but for `#if 0`. For messages alone.
[[nodiscard]] std::vector<KernelDeclaration> kernel_declarations(std::string_view text);

}  // namespace kiln
