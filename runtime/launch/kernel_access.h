#pragma once

#include "kiln/launch.h"

namespace kiln {

/// What kiln's own functions see of a Kernel beyond its public face.
struct KernelAccess {
  [[nodiscard]] static const KernelRecord& record(const Kernel& kernel) noexcept {
    return *kernel.record_;
  }
};

}  // namespace kiln
