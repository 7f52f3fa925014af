#include <cstdint>
#include <cstdio>
#include <iostream>
#include <optional>
#include <set>
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

/// Nothing for all entries.
using Keys = std::optional<std::vector<Digest>>;

Keys keys_of_engine(Cache& cache, const std::string& engine) {
  if (engine.empty()) return std::nullopt;
  std::vector<Digest> keys;
  const auto entries = cache.list().value();
  for (const auto& entry : entries) {
    if (is_of_engine(entry, engine)) keys.push_back(entry.key);
  }
  return keys;
}

/// Nothing of a cache that cannot be read, which may be why it is to be cleared.
std::optional<std::uint64_t> count_of(Cache& cache, const Keys& keys) {
  if (keys) return keys->size();
  const auto sums = cache.statistics();
  return sums ? std::optional(sums->entries) : std::nullopt;
}

// On standard error, so that a report of one line stays one.
bool consents(const Cache& cache, const ClearWords& words, std::optional<std::uint64_t> entries) {
  say("Remove {}{} of {}, pinned ones too? [y/N] ",
      entries ? counted(*entries, "entry", "entries") : "all entries", owner_of(words),
      cache.file().string());
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

bool may_clear(Cache& cache, const ClearWords& words, const Keys& keys) {
  if (words.yes || words.dry_run) return true;
  const auto entries = count_of(cache, keys);
  if (entries == 0) return true;
  if (!is_terminal(stdin)) {
    refuse(ErrorCode::invalid_argument,
           fmt::format("clear removes every entry{}; say --yes where nobody can be asked",
                       owner_of(words)));
  }
  return consents(cache, words, entries);
}

Cache open_to_clear(const Globals& globals, const ClearWords& words) {
  return words.dry_run ? open_for_inspection(globals).value() : open_for_change(globals);
}

GcReport would_remove(Cache& cache, const Keys& keys) {
  GcReport report;
  const auto named = keys ? std::set(keys->begin(), keys->end()) : std::set<Digest>();
  const auto entries = cache.list().value();
  for (const auto& entry : entries) {
    if (keys && !named.contains(entry.key)) continue;
    ++report.entries;
    report.bytes += entry.stored_bytes;
  }
  return report;
}

GcReport remove(Cache& cache, const Keys& keys, bool dry_run) {
  if (dry_run) return would_remove(cache, keys);
  return (keys ? cache.remove(*keys) : cache.clear()).value();
}

const char* what_is_done(const ClearWords& words) {
  return words.dry_run ? "would remove" : "removed";
}

std::string report_text(const GcReport& removed, const ClearWords& words) {
  if (removed.entries == 0) return fmt::format("there are no entries{}\n", owner_of(words));
  return fmt::format("{} {}{}, {}\n", what_is_done(words),
                     counted(removed.entries, "entry", "entries"), owner_of(words),
                     format_bytes(removed.bytes));
}

ExitCode clear_named(const Globals& globals, const ClearWords& words) {
  if (!words.engine.empty()) {
    refuse(ErrorCode::invalid_argument, "clear: name entries or an engine, not both");
  }
  auto cache = open_to_clear(globals, words);
  return for_each(globals, words.keys, [&](const std::string& word) {
    const auto key = choose_entry(cache, word).value();
    const auto removed = remove(cache, std::vector{key}, words.dry_run);
    print_report(globals, removed_json(removed, words.dry_run),
                 fmt::format("{} {}\n", what_is_done(words), key.hex()));
    return ExitCode::done;
  });
}

}  // namespace

ExitCode clear(const Globals& globals, const ClearWords& words) {
  if (!words.keys.empty()) return clear_named(globals, words);
  auto cache = open_to_clear(globals, words);
  const auto keys = keys_of_engine(cache, words.engine);
  if (!may_clear(cache, words, keys)) {
    say("nothing was removed\n");
    return ExitCode::findings;
  }
  const auto removed = remove(cache, keys, words.dry_run);
  print_report(globals, removed_json(removed, words.dry_run), report_text(removed, words));
  return ExitCode::done;
}

}  // namespace kiln::cli
