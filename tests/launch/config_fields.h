#pragma once

#include <tuple>

#include "kiln/launch.h"

namespace kiln::test {

/// All fields of a configuration. One that is added wants a name here, and a row in each test that uses this.
inline auto fields_of(const LaunchConfig& config) {
  const auto& [grid, block, shared_bytes, cluster, preferred, scheduling, cooperative,
               serialization, event, completion, priority, domain, domains, carveout] = config;
  return std::tie(grid, block, shared_bytes, cluster, preferred, scheduling, cooperative,
                  serialization, event, completion, priority, domain, domains, carveout);
}

}  // namespace kiln::test
