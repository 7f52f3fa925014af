#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "inspect.h"
#include "json.h"
#include "output.h"
#include "verbs.h"

namespace kiln::cli {

namespace {

using Prefixes = std::vector<std::string>;

Result<Digest> pin_one(Cache& cache, const std::string& prefix, bool pinned) {
  auto key = cache.resolve(prefix);
  if (!key) return key;
  const auto done = cache.pin(*key, pinned);
  if (!done) return tl::unexpected(done.error());
  return key;
}

Result<ExitCode> pin(const Globals& globals, const Prefixes& prefixes, bool pinned) {
  auto cache = open_for_change(globals);
  if (!cache) return tl::unexpected(cache.error());
  // One key that fits nothing does not keep the others from being pinned.
  ExitCode worst = ExitCode::done;
  for (const auto& prefix : prefixes) {
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

void add(CLI::App* verb, const Globals& globals, Action& chosen, bool pinned) {
  auto prefixes = std::make_shared<Prefixes>();
  verb->add_option("KEY", *prefixes, "The entries' keys, or the first digits of each")
      ->required()
      ->type_name("");
  verb->callback([=, &globals, &chosen] {
    chosen = [=, &globals] { return pin(globals, *prefixes, pinned); };
  });
}

}  // namespace

void add_pin(CLI::App& app, const Globals& globals, Action& chosen) {
  add(app.add_subcommand("pin", "Keep entries from being evicted or collected"), globals, chosen,
      true);
}

void add_unpin(CLI::App& app, const Globals& globals, Action& chosen) {
  add(app.add_subcommand("unpin", "Let pinned entries go again"), globals, chosen, false);
}

}  // namespace kiln::cli
