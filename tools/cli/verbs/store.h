#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kiln/exchange.h"
#include "verbs.h"
#include "verbs/progress.h"

namespace kiln::cli {

/// The store of this URL. Errors: invalid_argument for what names none; those of open_file_store().
[[nodiscard]] std::unique_ptr<ObjectStore> open_store(const Globals& globals,
                                                      const std::string& url, bool create);

/// Shows how far it is, in a Progress that begins with the first step.
[[nodiscard]] ExchangeProgress show_in(std::optional<Progress>& progress, const Globals& globals);

/// What the programs in the manifests are looked up by, each once; nothing where none is named. Warns of what cannot be looked up,
/// which `complete` then tells. Errors: those of plan_prewarm().
struct WantedRequests {
  std::optional<std::vector<Digest>> requests;
  bool complete = true;
};
[[nodiscard]] WantedRequests wanted_requests(const Globals& globals, const StoreWords& words);

}  // namespace kiln::cli
