#pragma once

#include <optional>
#include <string>
#include <vector>

#include "json.h"
#include "kiln/remote.h"
#include "verbs.h"

namespace kiln::cli {

/// What the helper on this machine knows of each store that KILN_REMOTE names. Asks no server.
[[nodiscard]] std::vector<RemoteState> states_of_remotes(const Globals& globals);

/// Why nothing comes from this store at the moment; nothing where something may.
[[nodiscard]] std::optional<std::string> why_silent(const RemoteState& remote);

/// How it failed last, where it did not take what was made here.
[[nodiscard]] std::optional<std::string> why_not_put(const RemoteState& remote);

/// One of the stores of `stats`.
[[nodiscard]] Json remote_json(const RemoteState& remote);

/// Null where nothing was asked yet.
[[nodiscard]] Json round_trip_json(const RemoteState& remote);

}  // namespace kiln::cli
