#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "json.h"
#include "kiln/kiln.h"
#include "milliseconds.h"
#include "output.h"
#include "table.h"
#include "verbs.h"
#include "verbs/inspect.h"
#include "verbs/program_items.h"
#include "verbs/progress.h"
#include "verbs/trace_summary.h"

namespace kiln::cli {

namespace {

namespace fs = std::filesystem;

// A program, and the architecture that stands for all: headers cost the same for each.
struct Item : ProgramItem {
  [[nodiscard]] const Target& target() const { return targets.front(); }
};

struct Traced {
  std::string program;
  std::string arch;
  std::uint64_t compile_us;
};

void check(const Globals& globals, const TraceWords& words) {
  check_standard_output(globals, words.output);
  check_output_file(words.output, words.files);
  check_program_words(words, words.files);
  if (words.archs.size() > 1) {
    refuse(ErrorCode::invalid_argument,
           "--arch: name one architecture; headers cost the same for each");
  }
}

// Appends what is to be traced of all files. One that cannot be read is reported, and no other is lost by it. Gives the worst
// exit status.
ExitCode read_items(const Globals& globals, Runtime& runtime, const TraceWords& words,
                    std::vector<Item>& items) {
  return for_each(globals, words.files, [&](const fs::path& file) {
    return for_each_program(globals, runtime, words, file, [&](const ProgramItem& item) {
      items.push_back({item});
      return ExitCode::done;
    });
  });
}

TimeTrace trace_of(Runtime& runtime, const TraceWords& words, const Item& item) {
  auto trace = runtime.trace(item.program, item.target());
  if (!trace) throw Failure(error_of(item, std::move(trace.error()), words.verbose));
  return std::move(*trace);
}

// The events of all compiles as one document, in which each compile is a process.
class TraceFile {
 public:
  void begin(const Item& item) {
    ++process_;
    put({{"ph", "M"},
         {"pid", process_},
         {"name", "process_name"},
         {"args",
          {{"name", fmt::format("{} for {}", item.program.name(), item.target().arch())}}}});
  }

  void put(nlohmann::json event) {
    event["pid"] = process_;
    text_ += text_.empty() ? "{\"traceEvents\":[\n" : ",\n";
    text_ += event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  [[nodiscard]] std::string text() const {
    return text_.empty() ? "{\"traceEvents\":[]}\n" : text_ + "\n]}\n";
  }

 private:
  int process_ = 0;
  std::string text_;
};

class Tracing {
 public:
  Tracing(const Globals& globals, const TraceWords& words) : globals_(globals), words_(words) {}

  void trace(Runtime& runtime, const Item& item) {
    const auto trace = trace_of(runtime, words_, item);
    const bool to_file = !words_.output.empty();
    if (to_file) file_.begin(item);
    const TraceSummary::SeeEvent keep = [&](nlohmann::json& event) { file_.put(std::move(event)); };
    if (!summary_.add(trace.json, to_file ? keep : TraceSummary::SeeEvent())) {
      refuse(ErrorCode::io_failed,
             fmt::format("{}: the compiler's trace is no JSON", item.program.name()));
    }
    traced_.push_back({item.program.name(), item.target().arch(), trace.compile_us});
  }

  void report() const {
    if (!words_.output.empty()) write_output(words_.output, file_.text());
    if (words_.output == "-") return;
    print_report(globals_, document(), globals_.json || globals_.quiet ? "" : text());
  }

 private:
  [[nodiscard]] Json document() const {
    auto programs = Json::array();
    for (const auto& [program, arch, compile_us] : traced_) {
      programs.push_back(
          {{"program", program}, {"arch", arch}, {"compile_ms", milliseconds(compile_us)}});
    }
    return {{"programs", std::move(programs)},
            {"phases", times_json(summary_.phases())},
            {"headers", times_json(summary_.headers())}};
  }

  template <class Row, class Cells>
  [[nodiscard]] std::string rows_text(Table table, const std::vector<Row>& rows,
                                      const Cells& cells) const {
    const auto shown = std::min(rows.size(), words_.top);
    for (std::size_t at = 0; at < shown; ++at) table.add(cells(rows[at]));
    auto text = table.text(wants_colour(stdout), width_of(stdout));
    if (shown < rows.size())
      text += fmt::format("… and {} more; --top shows them\n", rows.size() - shown);
    return text + '\n';
  }

  [[nodiscard]] std::string times_text(const char* heading,
                                       const std::vector<TraceTime>& times) const {
    return rows_text(Table({{"OWN", Align::right},
                            {"ALL", Align::right},
                            {"PROGRAMS", Align::right, 1},
                            {heading}}),
                     times, [](const TraceTime& time) {
                       return std::vector<std::string>{format_duration(time.own_us),
                                                       format_duration(time.all_us),
                                                       std::to_string(time.programs), time.name};
                     });
  }

  [[nodiscard]] std::string text() const {
    auto slowest_first = traced_;
    std::stable_sort(
        slowest_first.begin(), slowest_first.end(),
        [](const Traced& left, const Traced& right) { return left.compile_us > right.compile_us; });
    auto text = rows_text(Table({{"COMPILE", Align::right}, {"ARCH"}, {"PROGRAM"}}), slowest_first,
                          [](const Traced& traced) {
                            return std::vector<std::string>{format_duration(traced.compile_us),
                                                            traced.arch, traced.program};
                          });
    text += times_text("PHASE", summary_.phases());
    const auto headers = summary_.headers();
    if (headers.empty()) return text + "this compiler tells no headers: NVRTC 13.0 and later do\n";
    return text + times_text("HEADER", headers) +
           "Where its include is dropped, a header's OWN time is saved for certain, and ALL of it "
           "only if nothing else includes what it includes. Of one that only other headers "
           "include, the compiler tells no more than OWN.\n";
  }

  const Globals& globals_;
  const TraceWords& words_;
  TraceSummary summary_;
  TraceFile file_;
  std::vector<Traced> traced_;
};

}  // namespace

ExitCode trace(const Globals& globals, const TraceWords& words) {
  check(globals, words);
  auto options = runtime_options(globals);
  options.cache_disabled = true;
  auto runtime = Runtime::open(std::move(options)).value();
  std::vector<Item> items;
  const auto read = read_items(globals, runtime, words, items);
  Tracing tracing(globals, words);
  std::optional<Progress> progress(std::in_place, shape_of_progress(globals), items.size());
  std::size_t done = 0;
  const auto worst = for_each(globals, items, [&](const Item& item) {
    tracing.trace(runtime, item);
    ++done;
    progress->show(done, done, 0, item.program.name());
    return ExitCode::done;
  });
  progress.reset();
  if (done > 0) tracing.report();
  return std::max(read, worst);
}

}  // namespace kiln::cli
