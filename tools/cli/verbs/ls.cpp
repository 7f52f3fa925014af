#include <fnmatch.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "json.h"
#include "output.h"
#include "table.h"
#include "verbs.h"
#include "verbs/inspect.h"

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

std::size_t common_prefix(const std::string& a, const std::string& b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                                  a.begin());
}

// In key order the nearest neighbours share the longest prefix. REQUIRES: `entries` in key order.
std::size_t shortest_unique_prefix(const Entries& entries) {
  std::size_t digits = 8;
  for (std::size_t i = 1; i < entries.size(); ++i) {
    digits = std::max(digits, common_prefix(entries[i - 1].key.hex(), entries[i].key.hex()) + 1);
  }
  return digits;
}

bool is_wanted(const EntrySummary& entry, const LsWords& words) {
  const auto among = [](const std::vector<std::string>& wanted, const std::string& value) {
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
  };
  const bool named =
      words.program.empty() || fnmatch(words.program.c_str(), entry.program.c_str(), 0) == 0;
  return named && among(words.archs, entry.arch) && among(words.kinds, entry.kind) &&
         (entry.pinned || !words.pinned);
}

// `all`: how many entries the cache has, of which these are asked for.
void print_table(const Entries& entries, std::size_t key_digits, std::size_t all) {
  if (all == 0) return fmt::print("nothing is kept yet: {} fills it\n", ways_to_fill);
  if (entries.empty()) return fmt::print("none of the entries fits ({} in all)\n", all);
  Table table({{"KEY"},
               {"PROGRAM"},
               {"ARCH"},
               {"IMAGE", Align::left, 1},
               {"KERNELS", Align::right, 4},
               {"SIZE", Align::right},
               {"STORED", Align::right, 6},
               {"AGE", Align::right, 2},
               {"COMPILE", Align::right, 5},
               {"PINNED", Align::left, 3}});
  const auto now = std::time(nullptr);
  for (const auto& entry : entries) {
    table.add({entry.key.hex().substr(0, key_digits), entry.program, entry.arch, entry.kind,
               std::to_string(entry.kernels), format_bytes(entry.image_bytes),
               format_bytes(entry.stored_bytes), format_age(entry.created, now),
               format_duration(entry.compile_us), entry.pinned ? "pinned" : ""});
  }
  fmt::print("{}", table.text(wants_colour(stdout), width_of(stdout)));
}

}  // namespace

std::vector<std::string> sort_orders() {
  std::vector<std::string> names;
  for (const auto& [name, order] : orders()) names.push_back(name);
  return names;
}

ExitCode list_entries(const Globals& globals, const LsWords& words) {
  auto cache = open_for_inspection(globals).value();
  auto entries = cache.list().value();

  const auto key_digits = shortest_unique_prefix(entries);
  const auto all = entries.size();
  std::erase_if(entries, [&](const EntrySummary& entry) { return !is_wanted(entry, words); });
  std::stable_sort(entries.begin(), entries.end(), orders().at(words.sort));
  if (globals.json) {
    for (const auto& entry : entries) print_json(summary_json(entry));
  } else {
    print_table(entries, key_digits, all);
  }
  return ExitCode::done;
}

}  // namespace kiln::cli
