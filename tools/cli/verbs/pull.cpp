#include <optional>
#include <string>

#include "kiln/exchange.h"
#include "output.h"
#include "table.h"
#include "verbs.h"
#include "verbs/carried_entries.h"
#include "verbs/inspect.h"
#include "verbs/ship.h"
#include "verbs/store.h"

namespace kiln::cli {

ExitCode pull_entries(const Globals& globals, const PullWords& words) {
  auto cache = open_to_fill(globals);
  const auto store = open_store(globals, words.store, StoreUse::read);
  const auto wanted = wanted_requests(globals, words.entries);
  std::optional<Progress> progress;
  PullOptions options{.requests = {}, .progress = show_in(progress, globals)};
  if (wanted.requests) {
    auto& requests = options.requests.emplace();
    for (const auto& [request, what] : *wanted.requests) requests.push_back(request);
  }
  const auto pulled = pull(*store.objects, cache, options).value();
  progress.reset();
  warn_of_skipped(globals, pulled.skipped);
  if (pulled.missing != 0 && !settings_of(globals).trusted_keys.empty())
    warn_of_each(globals,
                 {"what no key in KILN_TRUSTED_KEYS has signed counts as not in the store"});
  print_report(globals,
               {{"store", store.url},
                {"added", pulled.added},
                {"present", pulled.present},
                {"missing", pulled.missing},
                {"bytes", pulled.bytes},
                {"skipped", skipped_json(pulled.skipped)}},
               field_list({{"store", store.url},
                           {"added", std::to_string(pulled.added)},
                           {"there already", std::to_string(pulled.present)},
                           {"not in the store", std::to_string(pulled.missing)},
                           {"read", format_bytes(pulled.bytes)},
                           {"left out", std::to_string(pulled.skipped.size())}},
                          wants_colour(stdout)));
  if (!wanted.complete) return ExitCode::failure;
  return pulled.missing == 0 ? exit_code_of(pulled.skipped) : ExitCode::findings;
}

}  // namespace kiln::cli
