#pragma once

#include <string>
#include <vector>

namespace kiln {

/// Sees which files this process opens as NVRTC opens headers: fopen(path, "r"). Whoever can offer one knows what a compile read without
/// having NVRTC write it down, which takes a tenth of a compile that finds its prelude precompiled.
class ReadingWatch {
 public:
  virtual ~ReadingWatch() = default;

  virtual void begin() = 0;

  /// The paths since begin(), as they were opened. Sorted, each once.
  [[nodiscard]] virtual std::vector<std::string> end() = 0;
};

}  // namespace kiln
