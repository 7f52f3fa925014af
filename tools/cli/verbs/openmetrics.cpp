#include "verbs/openmetrics.h"

#include <array>
#include <initializer_list>
#include <string_view>

#include <fmt/format.h>

#include "kiln/version.h"

namespace kiln::cli {

namespace {

struct Sample {
  std::string_view label;  // Of the one that the family has.
  double value;
};

/// A figure of a store that machines share.
struct RemoteFigure {
  std::string_view name;
  std::uint64_t RemoteStatus::*figure;
  std::string_view help;
};

constexpr std::array remote_counters{
    RemoteFigure{"kiln_remote_requests", &RemoteStatus::asked, "Requests that it was asked about."},
    RemoteFigure{"kiln_remote_objects", &RemoteStatus::found, "Objects that it gave."},
    RemoteFigure{"kiln_remote_failures", &RemoteStatus::failures, "Calls that failed."},
    RemoteFigure{"kiln_remote_late_answers", &RemoteStatus::slow,
                 "Answers that came when nobody waited for them any more."},
    RemoteFigure{"kiln_remote_pushed_entries", &RemoteStatus::pushed,
                 "Entries that were put there."},
    RemoteFigure{"kiln_remote_duplicate_entries", &RemoteStatus::duplicates,
                 "Of those, entries that were there already: compiled in vain."},
    RemoteFigure{"kiln_remote_dropped_entries", &RemoteStatus::dropped,
                 "Entries that could not be put there."},
    RemoteFigure{"kiln_remote_lease_waits", &RemoteStatus::lease_waits,
                 "How often another machine was found compiling what is needed here."},
};

struct LabelledCounter {
  std::string_view label;
  Counter counter;
};

class Exposition {
 public:
  void gauge(std::string_view name, std::string_view unit, std::string_view help, double value) {
    head(name, "gauge", unit, help);
    text_ += fmt::format("{} {}\n", name, value);
  }

  void gauges(std::string_view name, std::string_view unit, std::string_view help,
              std::string_view label, std::initializer_list<Sample> samples) {
    head(name, "gauge", unit, help);
    for (const auto& [word, value] : samples)
      text_ += fmt::format("{}{{{}=\"{}\"}} {}\n", name, label, word, value);
  }

  void counter(std::string_view name, std::string_view unit, std::string_view help, double value) {
    head(name, "counter", unit, help);
    text_ += fmt::format("{}_total {}\n", name, value);
  }

  void counters(std::string_view name, std::string_view help, std::string_view label,
                const CacheCounters& values, std::initializer_list<LabelledCounter> counters) {
    head(name, "counter", {}, help);
    for (const auto& [word, counter] : counters)
      text_ += fmt::format("{}_total{{{}=\"{}\"}} {}\n", name, label, word, values[counter]);
  }

  /// A family with a sample for each store, which `value` gives; none for nothing.
  template <class Value>
  void of_remotes(std::string_view name, std::string_view type, std::string_view unit,
                  std::string_view help, const std::vector<RemoteState>& remotes,
                  const Value& value) {
    head(name, type, unit, help);
    const auto* const suffix = type == "counter" ? "_total" : "";
    for (const auto& remote : remotes) {
      const std::optional<double> sample = value(remote);
      if (sample)
        text_ +=
            fmt::format("{}{}{{store=\"{}\"}} {}\n", name, suffix, escaped(remote.url), *sample);
    }
  }

  [[nodiscard]] std::string whole() const { return text_ + "# EOF\n"; }

 private:
  static std::string escaped(std::string_view text) {
    std::string escaped;
    for (const char character : text) {
      if (character == '\\' || character == '"') escaped += '\\';
      escaped += character == '\n' ? "\\n" : std::string(1, character);
    }
    return escaped;
  }

  void head(std::string_view name, std::string_view type, std::string_view unit,
            std::string_view help) {
    text_ += fmt::format("# TYPE {} {}\n", name, type);
    if (!unit.empty()) text_ += fmt::format("# UNIT {} {}\n", name, unit);
    text_ += fmt::format("# HELP {} {}\n", name, help);
  }

  std::string text_;
};

double seconds(std::uint64_t microseconds) { return static_cast<double>(microseconds) / 1e6; }
double number(std::uint64_t value) { return static_cast<double>(value); }

void add_sums(Exposition& exposition, const CacheStatistics& sums,
              std::optional<std::uint64_t> cap) {
  exposition.gauge("kiln_cache_entries", {}, "Images that are kept.", number(sums.entries));
  exposition.gauge("kiln_cache_file_size_bytes", "bytes", "The database file.",
                   number(sums.file_bytes));
  if (cap) {
    exposition.gauge("kiln_cache_max_size_bytes", "bytes", "What it may grow to.", number(*cap));
  }
  exposition.gauges("kiln_cache_images_bytes", "bytes", "The images, and what they take.", "form",
                    {{"plain", number(sums.image_bytes)}, {"stored", number(sums.stored_bytes)}});
  exposition.gauge("kiln_cache_texts", {}, "Sources and headers that are kept.",
                   number(sums.texts));
  exposition.gauges(
      "kiln_cache_texts_bytes", "bytes", "The texts, and what they take.", "form",
      {{"plain", number(sums.text_bytes)}, {"stored", number(sums.stored_text_bytes)}});
  exposition.gauge("kiln_cache_dependency_sets", {}, "Lists of headers that entries share.",
                   number(sums.dependency_sets));
  exposition.gauge("kiln_cache_compile_seconds", "seconds", "What compiling all of it took.",
                   seconds(sums.compile_us));
}

void add_history(Exposition& exposition, const CacheCounters& history) {
  exposition.counters("kiln_cache_hits", "What was served, by where from.", "layer", history,
                      {{"memory", Counter::hits_memory},
                       {"local", Counter::hits_local},
                       {"bundle", Counter::hits_bundle},
                       {"remote", Counter::hits_remote}});
  exposition.counters("kiln_cache_misses", "What was not served, by the nearest there was.",
                      "reason", history,
                      {{"absent", Counter::misses_absent},
                       {"unfit", Counter::misses_unfit},
                       {"untrusted", Counter::misses_untrusted},
                       {"damaged", Counter::misses_damaged},
                       {"unreadable", Counter::misses_unreadable}});
  exposition.counters("kiln_cache_errors", "Failures that were lived with.", "kind", history,
                      {{"full", Counter::errors_full},
                       {"locked", Counter::errors_locked},
                       {"denied", Counter::errors_denied},
                       {"corrupt", Counter::errors_corrupt},
                       {"io", Counter::errors_io}});
  exposition.counters("kiln_cache_entries_lost", "Entries that went, by why.", "reason", history,
                      {{"evicted", Counter::evictions},
                       {"damaged", Counter::damaged_rows},
                       {"refused", Counter::refused_images},
                       {"too_large", Counter::too_large}});
  exposition.counter("kiln_cache_stores", {}, "Entries that were stored.",
                     number(history[Counter::stores]));
  exposition.counter("kiln_cache_generations", {},
                     "Files begun because the current one was corrupt or foreign.",
                     number(history[Counter::generations]));
  exposition.counter("kiln_cache_reopened", {}, "Files that had gone or been replaced while open.",
                     number(history[Counter::reopened]));
  exposition.counter("kiln_cache_saved_seconds", "seconds", "Compile time that hits saved.",
                     seconds(history[Counter::saved_us]));
}

void add_remotes(Exposition& exposition, const std::vector<RemoteState>& remotes) {
  if (remotes.empty()) return;
  const auto of_status = [](const auto& figure) {
    return [figure](const RemoteState& remote) {
      return remote.status ? figure(*remote.status) : std::nullopt;
    };
  };
  using Sample = std::optional<double>;
  exposition.of_remotes(
      "kiln_remote_resting", "gauge", {}, "Whether it failed, and is left alone for a while.",
      remotes,
      of_status([](const RemoteStatus& status) { return Sample(status.resting ? 1 : 0); }));
  exposition.of_remotes(
      "kiln_remote_round_trip_seconds", "gauge", "seconds", "Of the latest call that succeeded.",
      remotes, of_status([](const RemoteStatus& status) {
        return status.round_trip_us == 0 ? Sample() : Sample(seconds(status.round_trip_us));
      }));
  exposition.of_remotes(
      "kiln_remote_waiting_entries", "gauge", {}, "Entries on their way there or from there.",
      remotes,
      of_status([](const RemoteStatus& status) { return Sample(number(status.waiting)); }));
  for (const auto& [name, figure, help] : remote_counters) {
    exposition.of_remotes(name, "counter", {}, help, remotes,
                          of_status([figure = figure](const RemoteStatus& status) {
                            return Sample(number(status.*figure));
                          }));
  }
}

}  // namespace

std::string openmetrics(const CacheStatistics& sums, const CacheCounters& history,
                        std::optional<std::uint64_t> cap, const std::vector<RemoteState>& remotes) {
  Exposition exposition;
  // Not of OpenMetrics' type "info", for which Prometheus' older text format, as node_exporter reads it, refuses the file.
  exposition.gauges("kiln_info", {}, "The tool that wrote this.", "version", {{version(), 1}});
  add_sums(exposition, sums, cap);
  if (cap) add_history(exposition, history);
  add_remotes(exposition, remotes);
  return exposition.whole();
}

}  // namespace kiln::cli
