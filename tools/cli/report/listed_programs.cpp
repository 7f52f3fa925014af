#include "report/listed_programs.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "output.h"
#include "verbs/program_words.h"
#include "verbs/progress.h"

namespace kiln::cli {

namespace {

constexpr std::size_t most_rows = 2'000;
constexpr std::size_t most_differences = 8;

std::vector<std::string> differences_of(const Explanation& explanation) {
  std::vector<std::string> texts;
  if (!explanation.nearest) return texts;
  const auto& differences = explanation.nearest->differences;
  for (const auto& difference : differences) {
    if (texts.size() == most_differences) {
      texts.push_back(fmt::format("… and {} more", differences.size() - most_differences));
      break;
    }
    texts.push_back(difference.text);
  }
  return texts;
}

std::string why_not(const Explanation& explanation) {
  if (explanation.not_stored.empty()) return explanation.reason;
  return fmt::format("{}; never kept: {}", explanation.reason, explanation.not_stored);
}

/// Of one row what the look-up comes to; the key of what is served too.
Json look_up_one(Runtime& runtime, const Result<Program>& program, const Target& target,
                 std::set<Digest>& served) {
  const auto explanation =
      program.and_then([&](const Program& known) { return runtime.explain(known, target); });
  Json row{{"hit", false}, {"reason", ""}, {"differences", Json::array()}};
  if (!explanation) {
    row["reason"] = explanation.error().message;
  } else if (explanation->hit) {
    row["hit"] = true;
    served.insert(explanation->key);
  } else {
    row["reason"] = why_not(*explanation);
    row["differences"] = differences_of(*explanation);
  }
  return row;
}

// Nothing is kept of it: a record's headers need be no files, and so the trace tells their names.
Outcome trace_one(Runtime& runtime, ListedProgram listed, TraceSummary& summary) {
  listed.embedded_names = nullptr;
  const auto trace = runtime.program_of(listed).and_then(
      [&](const Program& program) { return runtime.trace(program, listed.targets.front()); });
  if (!trace) return tl::unexpected(trace.error());
  if (summary.add(trace->json)) return {};
  return fail(ErrorCode::io_failed, "the compiler's trace is no JSON");
}

}  // namespace

Json look_up(Runtime& runtime, const std::vector<ListedProgram>& programs,
             std::set<Digest>& served) {
  std::vector<Json> rows;
  for (const auto& listed : programs) {
    const auto program = runtime.program_of(listed);
    for (const auto& target : listed.targets) {
      rows.push_back({{"program", listed.spec.name},
                      {"arch", target.arch()},
                      {"image", to_string(target.kind())}});
      rows.back().update(look_up_one(runtime, program, target, served));
    }
  }
  const auto first_hit = std::stable_partition(rows.begin(), rows.end(),
                                               [](const Json& row) { return row["hit"] == false; });
  Json report{{"asked", rows.size()}, {"served", rows.end() - first_hit}, {"rows", Json::array()}};
  rows.resize(std::min(rows.size(), most_rows));
  for (auto& row : rows) report["rows"].push_back(std::move(row));
  return report;
}

ExitCode trace_each(const Globals& globals, Runtime& runtime,
                    const std::vector<ListedProgram>& programs, TracedPrograms& traced) {
  Progress progress(shape_of_progress(globals), programs.size());
  std::size_t done = 0;
  return for_each(globals, programs, [&](const ListedProgram& listed) {
    ++done;
    auto added = trace_one(runtime, listed, traced.summary);
    if (!added) {
      added.error().message = without_options(std::move(added.error().message));
      traced.failures.push_back(fmt::format("{}: {}", listed.spec.name, added.error().message));
      throw Failure(added.error());
    }
    progress.show(done, done, traced.failures.size(), listed.spec.name);
    return ExitCode::done;
  });
}

}  // namespace kiln::cli
