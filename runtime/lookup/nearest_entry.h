#pragma once

#include <optional>
#include <string>

#include "kiln/cache.h"
#include "kiln/explain.h"
#include "kiln/request.h"
#include "lookup/layers.h"
#include "source/closure.h"
#include "source/header_files.h"
#include "source/query.h"

namespace kiln {

/// A request that no layer serves.
struct Missed {
  const Query& query;
  const Closure& closure;
  const Toolchain* toolchain;  ///< This machine's; nullptr if it has none, so that any will do.
  const std::string& reason;
};

/// Of the stored entries that share the request's source or the program's name, the one that is most like it, with all in
/// which they differ. Nothing if there is none, or the stores cannot be read.
[[nodiscard]] std::optional<NearestEntry> nearest_entry(const Missed& missed, Layers& layers,
                                                        HeaderFiles& files,
                                                        const AlikeLimits& limits);

}  // namespace kiln
