#include <string>

#include <fmt/format.h>

#include "json.h"
#include "output.h"
#include "verbs.h"
#include "verbs/entry_choice.h"
#include "verbs/inspect.h"

namespace kiln::cli {

ExitCode pin(const Globals& globals, const PinWords& words, bool pinned) {
  auto cache = open_for_change(globals);
  return for_each(globals, words.keys, [&](const std::string& word) {
    const auto key = choose_entry(cache, EntryWords{word, words.newest}).value();
    cache.pin(key, pinned).value();
    print_report(globals, {{"key", key.hex()}, {"pinned", pinned}},
                 fmt::format("{} {}\n", pinned ? "pinned" : "unpinned", key.hex()));
    return ExitCode::done;
  });
}

}  // namespace kiln::cli
