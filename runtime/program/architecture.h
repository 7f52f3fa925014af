#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kiln {

/// What the name of an architecture says.
struct Architecture {
  int version = 0;     ///< 10 * major + minor, e.g. 90.
  char suffix = '\0';  ///< 'a', 'f' or none.
  bool real = true;    ///< `sm_`, not `compute_`.

  [[nodiscard]] int major() const noexcept { return version / 10; }

  bool operator==(const Architecture&) const = default;
};

/// Reads "sm_90a", "compute_90", … Nothing if the name is not spelled like one.
[[nodiscard]] std::optional<Architecture> read_architecture(std::string_view name);

}  // namespace kiln
