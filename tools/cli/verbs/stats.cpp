#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "json.h"
#include "output.h"
#include "table.h"
#include "verbs.h"
#include "verbs/inspect.h"
#include "verbs/openmetrics.h"
#include "verbs/remote_states.h"

namespace kiln::cli {

namespace {

/// A counter, as it is named for people.
struct Row {
  Counter counter;
  const char* label;
};
constexpr std::array rows{
    Row{Counter::hits_memory, "hits in memory"},
    Row{Counter::hits_local, "hits on disk"},
    Row{Counter::hits_bundle, "hits in bundles"},
    Row{Counter::hits_remote, "hits in shared stores"},
    Row{Counter::misses_absent, "misses, nothing stored"},
    Row{Counter::misses_unfit, "misses, nothing that fits"},
    Row{Counter::misses_untrusted, "misses, not signed"},
    Row{Counter::misses_damaged, "misses, damaged"},
    Row{Counter::misses_unreadable, "misses, unreadable"},
    Row{Counter::damaged_rows, "damaged rows"},
    Row{Counter::stores, "stores"},
    Row{Counter::evictions, "evictions"},
    Row{Counter::refused_images, "images refused"},
    Row{Counter::too_large, "too large to store"},
    Row{Counter::errors_full, "errors, disk full"},
    Row{Counter::errors_locked, "errors, locked"},
    Row{Counter::errors_denied, "errors, denied"},
    Row{Counter::errors_corrupt, "errors, corrupt"},
    Row{Counter::errors_io, "errors, other"},
    Row{Counter::generations, "generations begun"},
    Row{Counter::reopened, "reopened"},
};
static_assert(rows.size() + 1 == counter_count, "all but saved_us, which is a time");

/// The part of what was asked for that was there, from 0 to 1; nothing where nothing was asked for.
std::optional<double> hit_rate(const CacheCounters& history) {
  const auto asked = history.hits() + history.misses();
  if (asked == 0) return std::nullopt;
  return static_cast<double>(history.hits()) / static_cast<double>(asked);
}

Json history_json(const CacheCounters& history) {
  Json document;
  for (const auto& row : rows) document[to_string(row.counter)] = history[row.counter];
  const auto rate = hit_rate(history);
  document["hit_rate"] = rate ? Json(*rate) : Json();
  document["saved_ms"] = static_cast<double>(history[Counter::saved_us]) / 1000;
  return document;
}

// An engine that only hits tells at most once a day: no hit that is told is not the same as none.
std::string hits_text(const CacheCounters& history) {
  if (history.hits() == 0) return "not told yet";
  return fmt::format("{}, {:.1f} % of what was asked for", history.hits(),
                     100 * *hit_rate(history));
}

// What never happened is left out, but for what everybody asks for.
std::string history_text(const CacheCounters& history) {
  std::vector<Field> fields{{"hits", hits_text(history)},
                            {"misses", std::to_string(history.misses())}};
  for (const auto& [counter, label] : rows) {
    if (history[counter] != 0) fields.emplace_back(label, std::to_string(history[counter]));
  }
  fields.emplace_back("compile time saved", format_duration(history[Counter::saved_us]));
  auto text = field_list(fields, wants_colour(stdout));
  if (history.hits() == 0)
    text +=
        "\na hit writes nothing: who is served tells of it at most once a day, kiln itself at "
        "once\n";
  return text;
}

/// A figure of a store that machines share, as it is named for people.
struct RemoteRow {
  std::uint64_t RemoteStatus::*figure;
  const char* label;
};
constexpr std::array remote_rows{
    RemoteRow{&RemoteStatus::asked, "requests to it"},
    RemoteRow{&RemoteStatus::found, "objects it gave"},
    RemoteRow{&RemoteStatus::pushed, "entries put there"},
    RemoteRow{&RemoteStatus::duplicates, "of these, there before"},
    RemoteRow{&RemoteStatus::waiting, "entries on their way"},
    RemoteRow{&RemoteStatus::dropped, "entries not put there"},
    RemoteRow{&RemoteStatus::failures, "failures"},
    RemoteRow{&RemoteStatus::slow, "answers that came too late"},
    RemoteRow{&RemoteStatus::lease_waits, "waits for other machines"},
};

// What never happened is left out.
std::string remote_text(const RemoteState& remote) {
  std::vector<Field> fields{{"shared store", remote.url}};
  if (const auto why = why_silent(remote))
    fields.emplace_back(remote.status && remote.status->resting ? "left alone" : "not reached",
                        *why);
  if (remote.status && remote.status->round_trip_us != 0)
    fields.emplace_back("answered last in", format_duration(remote.status->round_trip_us));
  for (const auto& [figure, label] : remote_rows) {
    if (remote.status && (*remote.status).*figure != 0)
      fields.emplace_back(label, std::to_string((*remote.status).*figure));
  }
  if (remote.status && !why_silent(remote) && !remote.status->last_failure.empty())
    fields.emplace_back("last failure", remote.status->last_failure);
  return field_list(fields, wants_colour(stdout));
}

/// What a cache may grow to; nothing for a bundle.
using Cap = std::optional<std::uint64_t>;

Json statistics_json(const std::string& file, const CacheStatistics& sums, Cap cap) {
  return {{"file", file},
          {"file_bytes", sums.file_bytes},
          {"max_bytes", cap ? Json(*cap) : Json()},
          {"entries", sums.entries},
          {"image_bytes", sums.image_bytes},
          {"stored_bytes", sums.stored_bytes},
          {"texts", sums.texts},
          {"text_bytes", sums.text_bytes},
          {"stored_text_bytes", sums.stored_text_bytes},
          {"dependency_sets", sums.dependency_sets},
          {"compile_ms", static_cast<double>(sums.compile_us) / 1000}};
}

std::string file_size_text(std::uint64_t bytes, Cap cap) {
  if (!cap || *cap == 0) return format_bytes(bytes);
  const auto percent = 100 * static_cast<double>(bytes) / static_cast<double>(*cap);
  return fmt::format("{}, {:.1f} % of the {} that it may grow to", format_bytes(bytes), percent,
                     format_bytes(*cap));
}

std::string statistics_text(const std::string& file, const CacheStatistics& sums, Cap cap) {
  const auto compressed = [](std::uint64_t plain, std::uint64_t stored) {
    return fmt::format("{} ({} stored)", format_bytes(plain), format_bytes(stored));
  };
  return field_list(
      {{"file", file},
       {"file size", file_size_text(sums.file_bytes, cap)},
       {"entries", std::to_string(sums.entries)},
       {"images", compressed(sums.image_bytes, sums.stored_bytes)},
       {"sources and headers",
        fmt::format("{}, {}", sums.texts, compressed(sums.text_bytes, sums.stored_text_bytes))},
       {"dependency sets", std::to_string(sums.dependency_sets)},
       {"compile time kept", format_duration(sums.compile_us)}},
      wants_colour(stdout));
}

ExitCode print_statistics(const Globals& globals, const StatsWords& words) {
  if (words.openmetrics) {
    check_standard_output(globals, *words.openmetrics);
    check_output_file(*words.openmetrics, {});
  }
  auto cache = open_for_inspection(globals).value();
  const auto sums = cache.statistics().value();
  const auto history = cache.history().value();
  const auto file = cache.file().string();
  const auto settings = settings_of(globals);
  const auto remotes = states_of_remotes(globals);
  Cap cap;
  if (!names_bundle(settings)) cap = settings.cache_max_bytes;
  if (words.openmetrics) {
    write_output(*words.openmetrics, openmetrics(sums, history, cap, remotes));
  } else if (globals.json) {
    auto document = statistics_json(file, sums, cap);
    document["history"] = history_json(history);
    auto& list = document["remotes"] = Json::array();
    for (const auto& remote : remotes) list.push_back(remote_json(remote));
    print_json(document);
  } else {
    put_text(statistics_text(file, sums, cap));
    if (cap) put("\n{}", history_text(history));  // A bundle has none.
    for (const auto& remote : remotes) put("\n{}", remote_text(remote));
    if (sums.entries == 0) put("\nnothing is kept yet: {} fills it\n", ways_to_fill);
  }
  return ExitCode::done;
}

ExitCode reset(const Globals& globals) {
  open_for_change(globals).reset_history().value();
  print_report(globals, {{"reset", true}}, "the history begins anew\n");
  return ExitCode::done;
}

}  // namespace

ExitCode stats(const Globals& globals, const StatsWords& words) {
  return words.reset ? reset(globals) : print_statistics(globals, words);
}

}  // namespace kiln::cli
