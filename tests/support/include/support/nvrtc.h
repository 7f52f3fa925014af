#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>

namespace kiln::test {

/// The NVRTC that the tests run with, for parts that read no settings: KILN_NVRTC's, as a runtime takes it;
/// nothing where it is to be searched for.
inline std::optional<std::filesystem::path> wanted_nvrtc() {
  const char* const file = std::getenv("KILN_NVRTC");
  if (file == nullptr || *file == '\0') return std::nullopt;
  return file;
}

}  // namespace kiln::test
