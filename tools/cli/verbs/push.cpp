#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kiln/exchange.h"
#include "output.h"
#include "table.h"
#include "verbs.h"
#include "verbs/inspect.h"
#include "verbs/ship.h"
#include "verbs/store.h"

namespace kiln::cli {

namespace {

struct Chosen {
  std::optional<std::vector<Digest>> keys;
  std::size_t missing = 0;  ///< Requests that nothing in the cache answers.
};

Chosen choose_entries(Cache& cache, const std::optional<std::vector<Digest>>& requests) {
  Chosen chosen;
  if (!requests) return chosen;
  chosen.keys.emplace();
  std::set<Digest> unanswered(requests->begin(), requests->end());
  const auto wanted = unanswered;
  const auto entries = cache.list().value();
  for (const auto& entry : entries) {
    if (!wanted.contains(entry.request)) continue;
    chosen.keys->push_back(entry.key);
    unanswered.erase(entry.request);
  }
  chosen.missing = unanswered.size();
  return chosen;
}

}  // namespace

ExitCode push_entries(const Globals& globals, const PushWords& words) {
  PushOptions options{.keys = {},
                      .without_sources = words.without_sources,
                      .signing_key = signing_key(settings_of(globals), words.sign),
                      .progress = {}};
  auto cache = open_whole(globals);
  const auto wanted = wanted_requests(globals, words.entries);
  auto chosen = choose_entries(cache, wanted.requests);
  options.keys = std::move(chosen.keys);
  const auto store = open_store(globals, words.entries.store, StoreUse::write);
  std::optional<Progress> progress;
  options.progress = show_in(progress, globals);
  const auto pushed = push(cache, *store.objects, options).value();
  progress.reset();
  warn_of_skipped(globals, pushed.skipped);
  print_report(globals,
               {{"store", store.url},
                {"added", pushed.added},
                {"present", pushed.present},
                {"signed_entries", pushed.signed_entries},
                {"missing", chosen.missing},
                {"bytes", pushed.bytes},
                {"skipped", skipped_json(pushed.skipped)}},
               field_list({{"store", store.url},
                           {"added", std::to_string(pushed.added)},
                           {"there already", std::to_string(pushed.present)},
                           {"signed", std::to_string(pushed.signed_entries)},
                           {"not in the cache", std::to_string(chosen.missing)},
                           {"written", format_bytes(pushed.bytes)},
                           {"left out", std::to_string(pushed.skipped.size())}},
                          wants_colour(stdout)));
  if (!wanted.complete) return ExitCode::failure;
  return chosen.missing == 0 ? exit_code_of(pushed.skipped) : ExitCode::findings;
}

}  // namespace kiln::cli
