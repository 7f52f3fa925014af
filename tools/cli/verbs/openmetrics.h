#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kiln/cache.h"

namespace kiln::cli {

/// What a cache holds and what it did, as OpenMetrics 1.0 has it, for node_exporter's textfile collector and its like. Times are in
/// seconds, sizes in bytes; counters end in `_total`. `cap` is what the cache may grow to; nothing for a bundle, which has no
/// history either. https://prometheus.io/docs/specs/om/open_metrics_spec/
[[nodiscard]] std::string openmetrics(const CacheStatistics& sums, const CacheCounters& history,
                                      std::optional<std::uint64_t> cap);

}  // namespace kiln::cli
