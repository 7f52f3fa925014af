#include <optional>
#include <string>
#include <utility>

#include "kiln/exchange.h"
#include "output.h"
#include "table.h"
#include "verbs.h"
#include "verbs/carried_entries.h"
#include "verbs/inspect.h"
#include "verbs/ship.h"
#include "verbs/store.h"

namespace kiln::cli {

ExitCode push_entries(const Globals& globals, const PushWords& words) {
  PushOptions options{.keys = {},
                      .without_sources = words.without_sources,
                      .signing_key = signing_key(settings_of(globals), words.sign),
                      .progress = {}};
  auto cache = open_whole(globals);
  auto leaving = leaving_entries(globals, cache, words.entries);
  options.keys = std::move(leaving.keys);
  const auto store = open_store(globals, words.store, StoreUse::write);
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
                {"missing", leaving.missing},
                {"bytes", pushed.bytes},
                {"skipped", skipped_json(pushed.skipped)}},
               field_list({{"store", store.url},
                           {"added", std::to_string(pushed.added)},
                           {"there already", std::to_string(pushed.present)},
                           {"signed", std::to_string(pushed.signed_entries)},
                           {"not in the cache", std::to_string(leaving.missing)},
                           {"written", format_bytes(pushed.bytes)},
                           {"left out", std::to_string(pushed.skipped.size())}},
                          wants_colour(stdout)));
  if (!leaving.complete) return ExitCode::failure;
  return leaving.missing == 0 ? exit_code_of(pushed.skipped) : ExitCode::findings;
}

}  // namespace kiln::cli
