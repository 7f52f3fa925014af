#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "json.h"
#include "output.h"
#include "verbs.h"
#include "verbs/inspect.h"

namespace kiln::cli {

namespace {

Result<Digest> pin_one(Cache& cache, const std::string& prefix, bool pinned) {
  auto key = cache.resolve(prefix);
  if (!key) return key;
  const auto done = cache.pin(*key, pinned);
  if (!done) return tl::unexpected(done.error());
  return key;
}

}  // namespace

Result<ExitCode> pin(const Globals& globals, const PinWords& words, bool pinned) {
  auto cache = open_for_change(globals);
  if (!cache) return tl::unexpected(cache.error());
  // One key that fits nothing does not keep the others from being pinned.
  ExitCode worst = ExitCode::done;
  for (const auto& prefix : words.keys) {
    const auto key = pin_one(*cache, prefix, pinned);
    if (!key) {
      report(globals, key.error());
      worst = std::max(worst, exit_code_of(key.error().code));
    } else if (globals.json) {
      print_json({{"key", key->hex()}, {"pinned", pinned}});
    } else if (!globals.quiet) {
      fmt::print("{} {}\n", pinned ? "pinned" : "unpinned", key->hex());
    }
  }
  return worst;
}

}  // namespace kiln::cli
