#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "kiln/cache.h"
#include "kiln/digest.h"
#include "verbs.h"

namespace kiln::cli {

/// What the programs in the manifests are looked up by, each once; nothing where none is named. Warns of what cannot be looked up,
/// which `complete` then tells. Errors: those of plan_prewarm().
struct WantedRequests {
  std::optional<std::vector<Digest>> requests;
  bool complete = true;
};
[[nodiscard]] WantedRequests wanted_requests(const Globals& globals, const CarriedWords& words);

/// The entries of a cache that leave it; no keys where that is all of them.
struct LeavingEntries {
  std::optional<std::vector<Digest>> keys;
  std::size_t missing = 0;  ///< Requests of the manifests that nothing in the cache answers.
  bool complete = true;     ///< As of the requests.
};
/// Errors: those of wanted_requests(); not_found where no entry is of such an engine.
[[nodiscard]] LeavingEntries leaving_entries(const Globals& globals, Cache& cache,
                                             const LeavingWords& words);

}  // namespace kiln::cli
