#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "json.h"
#include "output.h"
#include "table.h"
#include "verbs.h"
#include "verbs/entry_choice.h"
#include "verbs/entry_list.h"
#include "verbs/inspect.h"

namespace kiln::cli {

namespace {

// Whose entries go, in words that follow "entries".
std::string owner_of(const ClearWords& words) {
  return words.engine.empty() ? "" : fmt::format(" of engine {}", words.engine);
}

// On standard error, so that a report of one line stays one.
bool consents(const Cache& cache, const ClearWords& words, std::uint64_t entries) {
  say("Remove all {} entries{} of {}, pinned ones too? [y/N] ", entries, owner_of(words),
      cache.file().string());
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

bool may_clear(const Cache& cache, const ClearWords& words, std::uint64_t entries) {
  if (words.yes) return true;
  if (!is_terminal(stdin)) {
    refuse(ErrorCode::invalid_argument,
           fmt::format("clear removes every entry{}; say --yes where nobody can be asked",
                       owner_of(words)));
  }
  return consents(cache, words, entries);
}

std::vector<Digest> keys_of_engine(Cache& cache, const std::string& engine) {
  std::vector<Digest> keys;
  const auto entries = cache.list().value();
  for (const auto& entry : entries) {
    if (!entry.engine.empty() && matches(engine, entry.engine)) keys.push_back(entry.key);
  }
  return keys;
}

ExitCode clear_named(const Globals& globals, const ClearWords& words) {
  if (!words.engine.empty()) {
    refuse(ErrorCode::invalid_argument, "clear: name entries or an engine, not both");
  }
  auto cache = open_for_change(globals);
  return for_each(globals, words.keys, [&](const std::string& word) {
    const auto key = choose_entry(cache, word).value();
    const auto removed = cache.remove({&key, 1}).value();
    print_report(globals, removed_json(removed), fmt::format("removed {}\n", key.hex()));
    return ExitCode::done;
  });
}

}  // namespace

ExitCode clear(const Globals& globals, const ClearWords& words) {
  if (!words.keys.empty()) return clear_named(globals, words);
  auto cache = open_for_change(globals);
  const bool all = words.engine.empty();
  const auto keys = all ? std::vector<Digest>() : keys_of_engine(cache, words.engine);
  if (!may_clear(cache, words, all ? cache.statistics().value().entries : keys.size())) {
    say("nothing was removed\n");
    return ExitCode::findings;
  }
  const auto removed = (all ? cache.clear() : cache.remove(keys)).value();
  print_report(globals, removed_json(removed),
               fmt::format("removed all {} entries{}, {}\n", removed.entries, owner_of(words),
                           format_bytes(removed.bytes)));
  return ExitCode::done;
}

}  // namespace kiln::cli
