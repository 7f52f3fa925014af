#pragma once

#include <cstdlib>
#include <string_view>

namespace kiln::test {

/// Whether KILN_FAULT_SIZE=nightly asks for the long run.
[[nodiscard]] inline bool nightly() {
  const char* size = std::getenv("KILN_FAULT_SIZE");
  return size != nullptr && std::string_view(size) == "nightly";
}

template <class T>
[[nodiscard]] T by_size(T ci_size, T nightly_size) {
  return nightly() ? nightly_size : ci_size;
}

}  // namespace kiln::test
