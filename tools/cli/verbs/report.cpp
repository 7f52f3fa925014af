#include <algorithm>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "json.h"
#include "kiln/kiln.h"
#include "kiln/version.h"
#include "milliseconds.h"
#include "output.h"
#include "report/compiled_again.h"
#include "report/listed_programs.h"
#include "report/report_page.h"
#include "report/report_rows.h"
#include "table.h"
#include "verbs.h"
#include "verbs/inspect.h"
#include "verbs/kernel_rows.h"
#include "verbs/program_items.h"
#include "verbs/trace_summary.h"

namespace kiln::cli {

namespace {

namespace fs = std::filesystem;

/// The operand goes where --cache would.
Globals with_cache(const Globals& globals, const ReportWords& words) {
  if (words.of.empty()) return globals;
  if (globals.cache) {
    refuse(ErrorCode::invalid_argument, fmt::format("--cache {} and {}: name one cache or bundle",
                                                    globals.cache->string(), words.of));
  }
  auto named = globals;
  named.cache = absolute_path(words.of);
  return named;
}

std::vector<ListedProgram> read_manifests(const ReportWords& words) {
  std::vector<ListedProgram> programs;
  for (const auto& file : words.manifests) {
    auto read = read_manifest(file).value();
    std::ranges::move(read, std::back_inserter(programs));
  }
  for (auto& listed : programs) listed.targets = some_targets_of(listed, words.archs);
  return programs;
}

void add_trace_file(const fs::path& file, TraceSummary& summary) {
  const auto before = summary.programs();
  if (!summary.add(read_input(file)) || summary.programs() == before) {
    refuse(ErrorCode::invalid_argument,
           fmt::format("{} holds no time trace; kiln trace FILE --arch A -o {} writes one",
                       file.string(), file.string()));
  }
}

/// A report's headers are a table; a trace has thousands of small ones.
Json slowest(std::vector<TraceTime> times) {
  constexpr std::size_t most = 1'000;
  if (times.size() > most) times.resize(most);
  return times_json(times);
}

Json trace_json(const TracedPrograms& traced) {
  return {{"programs", traced.summary.programs()},
          {"headers", slowest(traced.summary.headers())},
          {"phases", slowest(traced.summary.phases())},
          {"failures", traced.failures}};
}

Json counters_json(const CacheCounters& counters) {
  return {{"hits", counters.hits()},
          {"misses", counters.misses()},
          {"saved_ms", milliseconds(counters[Counter::saved_us])}};
}

Json history_json(const CacheCounters& counters) {
  auto history = counters_json(counters);
  for (const auto counter :
       {Counter::misses_absent, Counter::misses_unfit, Counter::misses_untrusted,
        Counter::misses_damaged, Counter::misses_unreadable, Counter::evictions})
    history[to_string(counter)] = counters[counter];
  return history;
}

// Of the last year: a clock that once went wrong tells of days to come.
Json days_json(const std::vector<DayCounters>& days) {
  const auto tomorrow = std::time(nullptr) / 86'400 + 1;
  auto list = Json::array();
  for (const auto& [day, counters] : days) {
    if (day > tomorrow || tomorrow - day > 367) continue;
    Json row{{"day", day}};
    row.update(counters_json(counters));
    list.push_back(std::move(row));
  }
  return list;
}

Json totals_json(const std::vector<EntrySummary>& entries, const std::vector<KernelRow>& kernels) {
  std::set<std::string> programs;
  std::uint64_t bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t compile_us = 0;
  for (const auto& entry : entries) {
    programs.insert(entry.program);
    bytes += entry.image_bytes;
    stored_bytes += entry.stored_bytes;
    compile_us += entry.compile_us;
  }
  const auto spilling = std::ranges::count_if(
      kernels, [](const KernelRow& row) { return row.spilled_bytes().value_or(0) > 0; });
  return {{"entries", entries.size()},
          {"programs", programs.size()},
          {"bytes", bytes},
          {"stored_bytes", stored_bytes},
          {"kernels", kernels.size()},
          {"spilling", spilling},
          {"compile_ms", milliseconds(compile_us)}};
}

/// Gathers what one report shows.
class Report {
 public:
  Report(const Globals& globals, const ReportWords& words)
      : globals_(with_cache(globals, words)),
        words_(words),
        programs_(read_manifests(words)),
        cache_(open_for_inspection(globals_).value()) {}

  [[nodiscard]] std::filesystem::path file() const { return cache_.file(); }

  /// Gives the exit status that it deserves; `data` is what the page shows.
  [[nodiscard]] ExitCode gather(Json& data) {
    const auto settings = settings_of(globals_);
    const bool bundle = names_bundle(settings);
    data = {{"kiln", version()},
            {"made", std::time(nullptr)},
            {"file", cache_.file().string()},
            {"bundle", bundle}};
    auto status = add_listed(data);
    add_trace_files(data);
    status = std::max(status, add_entries(data));
    data["totals"]["file_bytes"] = cache_.statistics().value().file_bytes;
    data["totals"]["max_bytes"] = bundle ? Json() : Json(settings.cache_max_bytes);
    data["history"] = bundle ? Json() : history_json(cache_.history().value());
    data["days"] = bundle ? Json::array() : days_json(cache_.history_by_day().value());
    return status;
  }

 private:
  // What manifests list.
  ExitCode add_listed(Json& data) {
    data["manifests"] = Json::array();
    data["lookups"] = nullptr;
    data["trace"] = nullptr;
    data["no_trace"] = "";
    if (words_.manifests.empty()) return ExitCode::done;
    for (const auto& file : words_.manifests) data["manifests"].push_back(file.string());
    auto runtime = open_runtime_to_look(globals_);
    data["lookups"] = look_up(runtime, programs_, served_);
    if (!words_.traces.empty()) return ExitCode::done;
    const auto compiler = runtime.compiler();
    if (!compiler.available) {
      data["no_trace"] = compiler.reason;
      return ExitCode::done;
    }
    TracedPrograms traced;
    const auto status = trace_each(globals_, runtime, programs_, traced);
    data["trace"] = trace_json(traced);
    return status;
  }

  void add_trace_files(Json& data) const {
    if (words_.traces.empty()) return;
    TracedPrograms traced;
    for (const auto& file : words_.traces) add_trace_file(file, traced.summary);
    data["trace"] = trace_json(traced);
  }

  ExitCode add_entries(Json& data) {
    auto entries = cache_.list().value();
    data["compiled_again"] = compiled_again(cache_, entries);
    if (!words_.manifests.empty()) {
      std::erase_if(entries,
                    [&](const EntrySummary& entry) { return !served_.contains(entry.key); });
    }
    const auto kernels = read_kernels(cache_, entries, "");
    data["totals"] = totals_json(entries, kernels.rows);
    data["damaged"] = kernels.damaged.size();
    auto rows = report_rows(std::move(entries), kernels.rows);
    data["left_out"] = {{"entries", rows.entries_left_out}, {"kernels", rows.kernels_left_out}};
    data["names"] = std::move(rows.names);
    data["entries"] = std::move(rows.entries);
    data["kernels"] = std::move(rows.kernels);
    return warn_of_damaged(globals_, kernels);
  }

  const Globals globals_;
  const ReportWords& words_;
  const std::vector<ListedProgram> programs_;
  Cache cache_;
  std::set<Digest> served_;  // Keys of entries that serve what manifests list.
};

}  // namespace

ExitCode write_report(const Globals& globals, const ReportWords& words) {
  check_standard_output(globals, words.output);
  check_output_file(words.output, words.manifests);
  refuse_to_overwrite(words.output, words.traces);
  Json data;
  Report report(globals, words);
  refuse_to_overwrite(words.output, {report.file()});
  const auto status = report.gather(data);
  const auto page = report_page(data);
  write_output(words.output, page);
  if (words.output == "-") return status;
  const auto& totals = data["totals"];
  print_report(globals,
               {{"file", words.output},
                {"file_bytes", page.size()},
                {"entries", totals["entries"]},
                {"kernels", totals["kernels"]}},
               field_list({{"report", words.output},
                           {"size", format_bytes(page.size())},
                           {"of", fmt::format("{} entries, {} kernels",
                                              totals["entries"].get<std::uint64_t>(),
                                              totals["kernels"].get<std::uint64_t>())}},
                          wants_colour(stdout)));
  return status;
}

}  // namespace kiln::cli
