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

Result<bool> may_clear(Cache& cache, bool yes) {
  if (yes) return true;
  if (!is_terminal(stdin)) {
    return fail(ErrorCode::invalid_argument,
                "clear removes every entry; say --yes where nobody can be asked");
  }
  const auto sums = cache.statistics();
  if (!sums) return tl::unexpected(sums.error());
  return consents(cache, sums->entries);
}

}  // namespace

Result<ExitCode> clear(const Globals& globals, const ClearWords& words) {
  auto cache = open_for_change(globals);
  if (!cache) return tl::unexpected(cache.error());
  const auto agreed = may_clear(*cache, words.yes);
  if (!agreed) return tl::unexpected(agreed.error());
  if (!*agreed) {
    say("nothing was removed\n");
    return ExitCode::findings;
  }
  const auto removed = cache->clear();
  if (!removed) return tl::unexpected(removed.error());
  if (globals.json) {
    print_json(removed_json(*removed));
  } else if (!globals.quiet) {
    fmt::print("removed all {} entries, {}\n", removed->entries, format_bytes(removed->bytes));
  }
  return ExitCode::done;
}

}  // namespace kiln::cli
