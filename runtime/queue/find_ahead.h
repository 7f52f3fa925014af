#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "image/served_artifact.h"
#include "kiln/compiling.h"

namespace kiln {

/// An item's artifact, where that can be had without a compiler. Called on several threads at once.
using FindItem = std::function<std::optional<ServedArtifact>(const PrefetchItem& item)>;

/// Called for each that was found, one call at a time, on the thread that called find_ahead().
using FoundItem = std::function<void(std::size_t index, const ServedArtifact& found)>;

/// Finds what is there of the items, on so many threads, of which the calling one is one. Gives the indices of the others, in
/// the items' order; where it is stopped, of all that were not found by then.
[[nodiscard]] std::vector<std::size_t> find_ahead(const std::vector<PrefetchItem>& items,
                                                  std::size_t threads, const FindItem& find,
                                                  const FoundItem& found,
                                                  const std::stop_token& stop);

}  // namespace kiln
