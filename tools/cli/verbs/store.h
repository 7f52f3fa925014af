#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kiln/exchange.h"
#include "kiln/remote.h"
#include "verbs.h"
#include "verbs/progress.h"

namespace kiln::cli {

struct NamedStore {
  std::unique_ptr<ObjectStore> objects;
  std::string url;  ///< For people: without user and password.
};

/// The store of this URL, or the first one of KILN_REMOTE for `first_remote`. Errors: invalid_argument where that names none; those
/// of kiln::open_store().
[[nodiscard]] NamedStore open_store(const Globals& globals, const std::string& url, StoreUse use);

/// How many entries a store has for a request; an error where it cannot be asked.
struct StoreOffers {
  std::string url;
  Result<std::size_t> entries;
};

/// Of each store that KILN_REMOTE names.
[[nodiscard]] std::vector<StoreOffers> offers_of_remotes(const Globals& globals,
                                                         const Request& request);

/// Shows how far it is, in a Progress that begins with the first step.
[[nodiscard]] ExchangeProgress show_in(std::optional<Progress>& progress, const Globals& globals);

}  // namespace kiln::cli
