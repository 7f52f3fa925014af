#include "verbs/carried_entries.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "kiln/runtime.h"
#include "output.h"
#include "verbs/entry_list.h"
#include "verbs/inspect.h"
#include "verbs/prewarm_plan.h"

namespace kiln::cli {

namespace {

using Entries = std::vector<EntrySummary>;

Entries entries_of(const std::string& engine, Cache& cache) {
  auto entries = cache.list().value();
  std::erase_if(entries, [&](const auto& entry) { return !is_of_engine(entry, engine); });
  if (entries.empty() && !engine.empty()) {
    refuse(ErrorCode::not_found,
           fmt::format("--engine {}: no entry is of such an engine; kiln ls lists them", engine));
  }
  return entries;
}

}  // namespace

WantedRequests wanted_requests(const Globals& globals, const CarriedWords& words) {
  WantedRequests wanted;
  if (words.manifests.empty()) {
    if (!words.archs.empty() || !words.image.empty())
      refuse(ErrorCode::invalid_argument, "--arch and --image are for manifests: name one");
    return wanted;
  }
  PrewarmSources sources{words.manifests, std::nullopt, words.archs, std::nullopt, {}};
  if (!words.image.empty()) sources.image = value_of("--image", parse_image_kind(words.image));
  auto runtime = open_runtime_to_look(globals);
  const auto plan = plan_prewarm(runtime, sources);
  std::vector<std::string> faults;
  for (const auto& failure : plan.failures)
    faults.push_back(
        fmt::format("{} for {}: {}", failure.program, failure.arch, failure.error.message));
  auto& requests = wanted.requests.emplace();
  for (const auto& item : plan.items) {
    const auto request = runtime.request(item.program, item.target);
    if (request) {
      const auto engine =
          request->engine.empty() ? "" : fmt::format(" of engine {}", request->engine);
      requests.emplace(digest_of(request->material()),
                       fmt::format("{} for {}{}", item.program.name(), item.target.arch(), engine));
    } else {
      faults.push_back(request.error().message);
    }
  }
  warn_of_each(globals, faults);
  wanted.complete = faults.empty();
  return wanted;
}

LeavingEntries leaving_entries(const Globals& globals, Cache& cache, const LeavingWords& words) {
  if (!words.manifests.empty() && !words.engine.empty()) {
    refuse(ErrorCode::invalid_argument,
           "--engine is for all entries of an engine: each program of a manifest names its own, or "
           "KILN_ENGINE does");
  }
  auto wanted = wanted_requests(globals, words);
  LeavingEntries leaving{.keys = {}, .missing = 0, .complete = wanted.complete};
  if (!wanted.requests && words.engine.empty()) return leaving;
  auto unanswered = wanted.requests.value_or(std::map<Digest, std::string>());
  auto entries = entries_of(words.engine, cache);
  if (wanted.requests) {
    std::erase_if(entries,
                  [&](const auto& entry) { return !wanted.requests->contains(entry.request); });
  }
  for (const auto& entry : entries) unanswered.erase(entry.request);
  leaving.keys.emplace(entries.size());
  std::ranges::transform(entries, leaving.keys->begin(), &EntrySummary::key);
  std::vector<std::string> lacks;
  lacks.reserve(unanswered.size());
  for (const auto& [request, what] : unanswered)
    lacks.push_back(fmt::format("{} is not in the cache; kiln prewarm compiles it", what));
  warn_of_each(globals, lacks);
  leaving.missing = unanswered.size();
  return leaving;
}

}  // namespace kiln::cli
