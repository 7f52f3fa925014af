#pragma once

// What kiln is measured against: NVRTC as a program calls it that keeps nothing.

#include <array>
#include <filesystem>
#include <set>
#include <string>

namespace kiln::bench {

/// Architecture, name expression and lowered name of each kernel.
using Symbols = std::set<std::array<std::string, 3>>;

struct PlainCompiles {
  double seconds = 0;  ///< From the first call of NVRTC to the last.
  Symbols symbols;
};

/// Compiles all that a manifest lists, one after the other in this process: no precompiled header, no
/// cache; images and lowered names are read. Ends the process where something fails.
[[nodiscard]] PlainCompiles compile_plainly_here(const std::filesystem::path& manifest);

}  // namespace kiln::bench
