#include <cstdio>
#include <iostream>
#include <string>

#include <fmt/format.h>

#include "json.h"
#include "output.h"
#include "table.h"
#include "verbs.h"
#include "verbs/inspect.h"

namespace kiln::cli {

namespace {

// On standard error, so that a report of one line stays one.
bool consents(const Cache& cache, std::uint64_t entries) {
  say("Remove all {} entries of {}, pinned ones too? [y/N] ", entries, cache.file().string());
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

bool may_clear(Cache& cache, bool yes) {
  if (yes) return true;
  if (!is_terminal(stdin)) {
    refuse(ErrorCode::invalid_argument,
           "clear removes every entry; say --yes where nobody can be asked");
  }
  return consents(cache, cache.statistics().value().entries);
}

}  // namespace

ExitCode clear(const Globals& globals, const ClearWords& words) {
  auto cache = open_for_change(globals);
  if (!may_clear(cache, words.yes)) {
    say("nothing was removed\n");
    return ExitCode::findings;
  }
  const auto removed = cache.clear().value();
  print_report(
      globals, removed_json(removed),
      fmt::format("removed all {} entries, {}\n", removed.entries, format_bytes(removed.bytes)));
  return ExitCode::done;
}

}  // namespace kiln::cli
