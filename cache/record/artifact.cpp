#include "kiln/artifact.h"

#include <algorithm>

namespace kiln {

const char* to_string(Origin origin) noexcept {
  switch (origin) {
    case Origin::compiled:
      return "compiled";
    case Origin::memory:
      return "memory";
    case Origin::local:
      return "local";
    case Origin::bundle:
      return "bundle";
    case Origin::remote:
      return "remote";
  }
  return "unknown";
}

const KernelInfo* Artifact::find(std::string_view expression) const {
  const auto found = std::ranges::find(kernels, expression, &KernelInfo::expression);
  if (found != kernels.end()) return &*found;
  const auto canonical = canonical_expression(expression);
  return canonical != expression ? find(canonical) : nullptr;
}

}  // namespace kiln
