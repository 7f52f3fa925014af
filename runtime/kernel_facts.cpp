#include "kernel_facts.h"

#include <algorithm>

#include "cubin.h"

namespace kiln {

void add_facts(Artifact& artifact, bool all) {
  const auto info = read_cubin(artifact.image);
  if (!info) return;
  for (const auto& kernel : info->kernels) {
    bool listed = false;
    for (auto& known : artifact.kernels) {
      if (known.symbol != kernel.symbol) continue;
      known.registers = kernel.registers;
      known.shared_bytes = kernel.shared_bytes;
      known.local_bytes = kernel.local_bytes;
      known.params = kernel.params;
      known.params_known = true;
      listed = true;
    }
    if (listed || !all) continue;
    artifact.kernels.push_back({.expression = kernel.symbol,
                                .symbol = kernel.symbol,
                                .registers = kernel.registers,
                                .shared_bytes = kernel.shared_bytes,
                                .local_bytes = kernel.local_bytes,
                                .params_known = true,
                                .params = kernel.params});
  }
  std::sort(artifact.kernels.begin(), artifact.kernels.end(),
            [](const auto& left, const auto& right) { return left.expression < right.expression; });
}

}  // namespace kiln
