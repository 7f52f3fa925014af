#include "verbs/carried_entries.h"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

#include "kiln/runtime.h"
#include "output.h"
#include "verbs/entry_list.h"
#include "verbs/inspect.h"
#include "verbs/prewarm_plan.h"

namespace kiln::cli {

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
      requests.push_back(digest_of(request->material()));
    } else {
      faults.push_back(request.error().message);
    }
  }
  std::ranges::sort(requests);
  requests.erase(std::unique(requests.begin(), requests.end()), requests.end());
  warn_of_each(globals, faults);
  wanted.complete = faults.empty();
  return wanted;
}

LeavingEntries leaving_entries(const Globals& globals, Cache& cache, const LeavingWords& words) {
  const auto wanted = wanted_requests(globals, words);
  LeavingEntries leaving{.keys = {}, .missing = 0, .complete = wanted.complete};
  if (!wanted.requests && words.engine.empty()) return leaving;
  auto entries = cache.list().value();
  std::erase_if(entries, [&](const auto& entry) { return !matches(words.engine, entry.engine); });
  if (entries.empty() && !words.engine.empty()) {
    refuse(ErrorCode::not_found,
           fmt::format("--engine {}: no entry is of such an engine; kiln ls lists them",
                       words.engine));
  }
  auto& keys = leaving.keys.emplace();
  std::set<Digest> requests;
  if (wanted.requests) requests.insert(wanted.requests->begin(), wanted.requests->end());
  auto unanswered = requests;
  for (const auto& entry : entries) {
    if (wanted.requests && !requests.contains(entry.request)) continue;
    keys.push_back(entry.key);
    unanswered.erase(entry.request);
  }
  leaving.missing = unanswered.size();
  return leaving;
}

}  // namespace kiln::cli
