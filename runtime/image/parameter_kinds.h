#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kiln {

/// What a kernel takes at one place, as far as its symbol tells.
enum class ParameterKind : std::uint8_t {
  unknown,   ///< A structure, an enumeration, a type of the program's own.
  integer,   ///< Or bool, or a character.
  floating,  ///< float or double.
  pointer,
};

/// The kinds of a kernel's parameters, in order; none for a symbol that tells no types, as of `extern "C"`, or takes none.
/// Total on any text.
[[nodiscard]] std::vector<ParameterKind> parameter_kinds(const std::string& symbol);

}  // namespace kiln
