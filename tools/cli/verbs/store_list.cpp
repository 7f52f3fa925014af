#include "verbs/store_list.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "json.h"
#include "kiln/exchange.h"
#include "output.h"
#include "table.h"
#include "verbs/entry_list.h"
#include "verbs/inspect.h"
#include "verbs/progress.h"
#include "verbs/ship.h"
#include "verbs/store.h"

namespace kiln::cli {

namespace {

using Entries = std::vector<StoreEntry>;

void refuse_what_a_store_does_not_tell(const LsWords& words) {
  const auto refuse_if = [](bool asked, const char* option, const char* why) {
    if (asked)
      refuse(ErrorCode::invalid_argument, fmt::format("{} is not for --store: {}", option, why));
  };
  refuse_if(!words.kernel.empty(), "--kernel", "kiln pull brings the entries, kiln kernels looks");
  refuse_if(!words.age.empty(), "--age", "a store does not tell when an entry was made");
  refuse_if(words.pinned, "--pinned", "nothing is pinned there");
}

std::size_t key_digits(const Entries& entries) {
  std::vector<EntrySummary> keys;
  keys.reserve(entries.size());
  for (const auto& entry : entries) keys.emplace_back().key = entry.summary.key;
  // One that several keys have signed may be there several times.
  std::ranges::sort(keys, {}, &EntrySummary::key);
  const auto same = [](const auto& a, const auto& b) { return a.key == b.key; };
  keys.erase(std::unique(keys.begin(), keys.end(), same), keys.end());
  return shortest_unique_prefix(keys);
}

Json entry_json(const StoreEntry& entry) {
  auto document = summary_json(entry.summary);
  for (const auto* const told_by_a_cache : {"stored_bytes", "created", "pinned"})
    document.erase(told_by_a_cache);
  document["request"] = entry.summary.request.hex();
  document["object_bytes"] = entry.object_bytes;
  document["signers"] = entry.signers;
  return document;
}

std::string table_text(const Entries& entries) {
  std::vector<Column> columns{{"KEY"},
                              {"PROGRAM"},
                              {"ARCH"},
                              {"IMAGE", Align::left, 1},
                              {"KERNELS", Align::right, 5},
                              {"SIZE", Align::right, 2},
                              {"OBJECT", Align::right},
                              {"COMPILE", Align::right, 6},
                              {"TOOLCHAIN", Align::left, 4},
                              {"SIGNED BY"}};
  const bool any_engine = std::ranges::any_of(
      entries, [](const StoreEntry& entry) { return !entry.summary.engine.empty(); });
  if (any_engine) columns.insert(columns.begin() + 2, {"ENGINE", Align::left, 3});
  Table table(std::move(columns));
  const auto digits = key_digits(entries);
  for (const auto& [entry, object_bytes, signers] : entries) {
    std::vector<std::string> cells{entry.key.hex().substr(0, digits),
                                   entry.program,
                                   entry.arch,
                                   entry.kind,
                                   kernel_count_text(entry),
                                   format_bytes(entry.image_bytes),
                                   format_bytes(object_bytes),
                                   format_duration(entry.compile_us),
                                   entry.toolchain,
                                   or_dash(fmt::format("{}", fmt::join(signers, ", ")))};
    if (any_engine) cells.insert(cells.begin() + 2, entry.engine);
    table.add(std::move(cells));
  }
  return table.text(wants_colour(stdout), width_of(stdout));
}

void print_table(const Entries& entries, const StoreListing& listing, bool whole,
                 bool signed_only) {
  if (listing.entries == 0) {
    put("the store has nothing that serves here: kiln push fills it{}\n",
        signed_only ? "; what no key in KILN_TRUSTED_KEYS has signed is not listed" : "");
    return;
  }
  if (entries.empty()) {
    put("none of the entries fits ({} in all)\n", listing.entries);
    return;
  }
  std::uint64_t bytes = 0;
  for (const auto& entry : entries) bytes += entry.object_bytes;
  put("{}\n{}, {} without their sources and headers{}\n", table_text(entries),
      counted(entries.size(), "entry", "entries"), format_bytes(bytes),
      whole ? "" : "; --limit ended it there");
}

}  // namespace

ExitCode list_store_entries(
    const Globals& globals, const LsWords& words,
    const std::function<bool(const EntrySummary&)>& fits,
    const std::function<bool(const EntrySummary&, const EntrySummary&)>& order) {
  refuse_what_a_store_does_not_tell(words);
  const auto store = open_store(globals, *words.store, StoreUse::look);
  Entries entries;
  const auto is_full = [&] { return words.limit && entries.size() >= *words.limit; };
  std::optional<Progress> progress;
  const auto listing = list_store(
                           *store.objects,
                           [&](const StoreEntry& entry) {
                             if (fits(entry.summary)) entries.push_back(entry);
                             return !is_full();
                           },
                           show_in(progress, globals))
                           .value();
  progress.reset();
  warn_of_skipped(globals, listing.skipped);
  arrange(
      entries,
      [&](const StoreEntry& a, const StoreEntry& b) { return order(a.summary, b.summary); }, words);
  if (globals.json) {
    for (const auto& entry : entries) print_json(entry_json(entry));
  } else {
    print_table(entries, listing, !is_full(), !settings_of(globals).trusted_keys.empty());
  }
  return exit_code_of(listing.skipped);
}

}  // namespace kiln::cli
