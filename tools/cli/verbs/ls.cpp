#include <algorithm>
#include <cstdint>
#include <ctime>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "json.h"
#include "kiln/target.h"
#include "output.h"
#include "table.h"
#include "verbs.h"
#include "verbs/entry_list.h"
#include "verbs/inspect.h"
#include "verbs/kernel_rows.h"
#include "verbs/store_list.h"

namespace kiln::cli {

namespace {

using Entries = std::vector<EntrySummary>;
using Order = bool (*)(const EntrySummary&, const EntrySummary&);

// What people look for comes first: the largest, the newest, the slowest to compile.
const std::map<std::string, Order>& orders() {
  static const std::map<std::string, Order> all{
      {"key", [](const auto& a, const auto& b) { return a.key < b.key; }},
      {"program",
       [](const auto& a, const auto& b) {
         return std::tie(a.program, a.arch) < std::tie(b.program, b.arch);
       }},
      {"size", [](const auto& a, const auto& b) { return a.image_bytes > b.image_bytes; }},
      {"age", [](const auto& a, const auto& b) { return a.created > b.created; }},
      {"compile", [](const auto& a, const auto& b) { return a.compile_us > b.compile_us; }},
  };
  return all;
}

void check_kinds(const std::vector<std::string>& kinds) {
  for (const auto& kind : kinds) static_cast<void>(value_of("--image", parse_image_kind(kind)));
}

bool is_wanted(const EntrySummary& entry, const LsWords& words) {
  const bool of_kind = words.images.empty() || std::ranges::count(words.images, entry.kind) != 0;
  return of_kind && (entry.pinned || !words.pinned);
}

/// Keeps the entries that have such a kernel.
void keep_those_with(const std::vector<KernelRow>& kernels, Entries& entries) {
  std::set<Digest> keys;
  for (const auto& row : kernels) keys.insert(row.entry.key);
  std::erase_if(entries, [&](const EntrySummary& entry) { return !keys.contains(entry.key); });
}

std::string totals_text(const Entries& entries, std::size_t fitting) {
  std::uint64_t image_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t compile_us = 0;
  for (const auto& entry : entries) {
    image_bytes += entry.image_bytes;
    stored_bytes += entry.stored_bytes;
    compile_us += entry.compile_us;
  }
  const auto compiled = compile_us == 0  // A bundle does not tell.
                            ? std::string()
                            : fmt::format(", compiled in {}", format_duration(compile_us));
  return fmt::format("{}, {} of images ({} stored){}\n",
                     counted_of(entries.size(), fitting, "entry", "entries"),
                     format_bytes(image_bytes), format_bytes(stored_bytes), compiled);
}

// `fitting`: how many fit, of which these are asked for; `all`: how many the cache has.
void print_table(const Globals& globals, const Entries& entries, std::size_t key_digits,
                 std::size_t fitting, std::size_t all) {
  if (all == 0) {
    return put("nothing is kept yet: {} fills it{}\n", ways_to_fill,
               way_to_bundles(settings_of(globals)));
  }
  if (entries.empty()) return put("none of the entries fits ({} in all)\n", all);
  std::vector<Column> columns{{"KEY"},
                              {"PROGRAM"},
                              {"ARCH"},
                              {"IMAGE", Align::left, 1},
                              {"KERNELS", Align::right, 4},
                              {"SIZE", Align::right},
                              {"STORED", Align::right, 6},
                              {"AGE", Align::right, 2},
                              {"COMPILE", Align::right, 5},
                              {"PINNED", Align::left, 3}};
  const bool any_engine =
      std::ranges::any_of(entries, [](const EntrySummary& entry) { return !entry.engine.empty(); });
  if (any_engine) columns.insert(columns.begin() + 2, {"ENGINE", Align::left, 3});
  Table table(std::move(columns));
  const auto now = std::time(nullptr);
  for (const auto& entry : entries) {
    std::vector<std::string> cells{entry.key.hex().substr(0, key_digits),
                                   entry.program,
                                   entry.arch,
                                   entry.kind,
                                   kernel_count_text(entry),
                                   format_bytes(entry.image_bytes),
                                   format_bytes(entry.stored_bytes),
                                   format_age(entry.created, now),
                                   format_duration(entry.compile_us),
                                   entry.pinned ? "pinned" : ""};
    if (any_engine) cells.insert(cells.begin() + 2, entry.engine);
    table.add(std::move(cells));
  }
  put("{}\n{}", table.text(wants_colour(stdout), width_of(stdout)), totals_text(entries, fitting));
}

}  // namespace

std::vector<std::string> sort_orders() {
  std::vector<std::string> names;
  for (const auto& [name, order] : orders()) names.push_back(name);
  return names;
}

ExitCode list_entries(const Globals& globals, const LsWords& words) {
  check_architectures(words);
  check_kinds(words.images);
  if (words.store) {
    const auto fits = [&](const EntrySummary& entry) {
      return is_wanted(entry, words) && !wanted_entries({entry}, words).empty();
    };
    return list_store_entries(globals, words, fits, orders().at(words.sort));
  }
  auto cache = open_for_inspection(globals).value();
  const auto all = cache.list().value();
  auto entries = wanted_entries(all, words);
  std::erase_if(entries, [&](const EntrySummary& entry) { return !is_wanted(entry, words); });
  KernelRows kernels;
  if (!words.kernel.empty()) {
    kernels = read_kernels(cache, entries, words.kernel);
    keep_those_with(kernels.rows, entries);
  }
  const auto fitting = entries.size();
  arrange(entries, orders().at(words.sort), words);
  if (globals.json) {
    for (const auto& entry : entries) print_json(summary_json(entry));
  } else {
    print_table(globals, entries, shortest_unique_prefix(all), fitting, all.size());
  }
  return warn_of_damaged(globals, kernels);
}

}  // namespace kiln::cli
