#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kiln/cache.h"
#include "kiln/digest.h"
#include "verbs.h"

namespace kiln::cli {

/// What the programs in the manifests are looked up by, each once; nothing where none is named. Warns of what cannot be looked up,
/// which `complete` then tells. Errors: those of plan_prewarm().
struct WantedRequests {
  std::optional<std::map<Digest, std::string>> requests;  ///< And what each is for, in words.
  bool complete = true;
};
[[nodiscard]] WantedRequests wanted_requests(const Globals& globals, const CarriedWords& words);

/// The entries of a cache that leave it; no keys where that is all of them.
struct LeavingEntries {
  std::optional<std::vector<Digest>> keys;
  std::size_t missing = 0;  ///< Requests of the manifests that nothing in the cache answers.
  bool complete = true;     ///< As of the requests.
};
/// Warns of what is missing. Errors: those of wanted_requests(); not_found where no entry is of such an engine;
/// invalid_argument for manifests and an engine.
[[nodiscard]] LeavingEntries leaving_entries(const Globals& globals, Cache& cache,
                                             const LeavingWords& words);

}  // namespace kiln::cli
