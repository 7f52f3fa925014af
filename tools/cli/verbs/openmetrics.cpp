#include "verbs/openmetrics.h"

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

  void info(std::string_view name, std::string_view help, std::string_view label,
            std::string_view value) {
    head(name, "info", {}, help);
    text_ += fmt::format("{}_info{{{}=\"{}\"}} 1\n", name, label, value);
  }

  [[nodiscard]] std::string whole() const { return text_ + "# EOF\n"; }

 private:
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

}  // namespace

std::string openmetrics(const CacheStatistics& sums, const CacheCounters& history,
                        std::optional<std::uint64_t> cap) {
  Exposition exposition;
  exposition.info("kiln", "The tool that wrote this.", "version", version());
  add_sums(exposition, sums, cap);
  if (cap) add_history(exposition, history);
  return exposition.whole();
}

}  // namespace kiln::cli
