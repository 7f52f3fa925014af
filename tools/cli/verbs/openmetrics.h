#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kiln/cache.h"
#include "kiln/remote.h"

namespace kiln::cli {

/// What a cache holds and what it did, as OpenMetrics 1.0 has it, for node_exporter's textfile collector and its like. Times are in
/// seconds, sizes in bytes; counters end in `_total`. `cap` is what the cache may grow to; nothing for a bundle, which has no
/// history either. Of stores that machines share, only those are told that kiln-remote can be asked of. https://prometheus.io/docs/specs/om/open_metrics_spec/
[[nodiscard]] std::string openmetrics(const CacheStatistics& sums, const CacheCounters& history,
                                      std::optional<std::uint64_t> cap,
                                      const std::vector<RemoteState>& remotes);

}  // namespace kiln::cli
