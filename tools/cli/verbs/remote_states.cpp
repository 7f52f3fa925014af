#include "verbs/remote_states.h"

#include <utility>

#include "kiln/runtime.h"
#include "milliseconds.h"
#include "verbs/inspect.h"

namespace kiln::cli {

std::vector<RemoteState> states_of_remotes(const Globals& globals) {
  auto options = asked_settings(globals);
  auto settings = resolve_settings(options).value();
  if (settings.remotes.empty()) return {};
  options.remotes = std::move(settings.remotes);
  // Nothing else of the runtime is wanted.
  options.cache_disabled = true;
  options.bundles.emplace();
  options.log_level = LogLevel::off;
  return Runtime::open(std::move(options)).value().remotes(false);
}

std::optional<std::string> why_silent(const RemoteState& remote) {
  if (!remote.status) return remote.status.error().message;
  const auto& status = *remote.status;
  const bool never_answered = status.round_trip_us == 0 && !status.last_failure.empty();
  return status.resting || never_answered ? std::optional(status.last_failure) : std::nullopt;
}

std::optional<std::string> why_not_put(const RemoteState& remote) {
  const bool failed =
      remote.status && remote.status->dropped != 0 && !remote.status->last_failure.empty();
  return failed ? std::optional(remote.status->last_failure) : std::nullopt;
}

Json round_trip_json(const RemoteState& remote) {
  if (!remote.status || remote.status->round_trip_us == 0) return {};
  return milliseconds(remote.status->round_trip_us);
}

Json remote_json(const RemoteState& remote) {
  const auto silent = why_silent(remote);
  const auto why = silent ? silent : why_not_put(remote);
  const auto* const status = remote.status ? &*remote.status : nullptr;
  const auto told = [&](std::uint64_t RemoteStatus::*figure) {
    return status != nullptr ? Json(status->*figure) : Json();
  };
  return {{"url", remote.url},
          {"read_only", remote.read_only},
          {"resting", status != nullptr ? Json(status->resting) : Json()},
          {"reason", why ? Json(*why) : Json()},
          {"round_trip_ms", round_trip_json(remote)},
          {"asked", told(&RemoteStatus::asked)},
          {"found", told(&RemoteStatus::found)},
          {"failures", told(&RemoteStatus::failures)},
          {"slow", told(&RemoteStatus::slow)},
          {"pushed", told(&RemoteStatus::pushed)},
          {"duplicates", told(&RemoteStatus::duplicates)},
          {"dropped", told(&RemoteStatus::dropped)},
          {"waiting", told(&RemoteStatus::waiting)},
          {"lease_waits", told(&RemoteStatus::lease_waits)}};
}

}  // namespace kiln::cli
