#include "report/listed_programs.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "output.h"
#include "verbs/progress.h"

namespace kiln::cli {

namespace {

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

void look_up_one(Runtime& runtime, const Program& program, const Target& target, Lookups& lookups) {
  Json row{{"program", program.name()},
           {"arch", target.arch()},
           {"image", to_string(target.kind())},
           {"hit", false},
           {"reason", ""},
           {"differences", Json::array()}};
  const auto explanation = runtime.explain(program, target);
  if (!explanation) {
    row["reason"] = explanation.error().message;
  } else if (explanation->hit) {
    row["hit"] = true;
    lookups.served.insert(explanation->key);
  } else {
    row["reason"] = why_not(*explanation);
    row["differences"] = differences_of(*explanation);
  }
  lookups.rows.push_back(std::move(row));
}

void refuse_lookups(const ListedProgram& listed, const Error& error, Lookups& lookups) {
  for (const auto& target : listed.targets) {
    lookups.rows.push_back({{"program", listed.spec.name},
                            {"arch", target.arch()},
                            {"image", to_string(target.kind())},
                            {"hit", false},
                            {"reason", error.message},
                            {"differences", Json::array()}});
  }
}

}  // namespace

Lookups look_up(Runtime& runtime, const std::vector<ListedProgram>& programs) {
  Lookups lookups;
  for (const auto& listed : programs) {
    const auto program = runtime.program_of(listed);
    if (!program) {
      refuse_lookups(listed, program.error(), lookups);
      continue;
    }
    for (const auto& target : listed.targets) look_up_one(runtime, *program, target, lookups);
  }
  return lookups;
}

ExitCode trace_each(const Globals& globals, Runtime& runtime,
                    const std::vector<ListedProgram>& programs, TracedPrograms& traced) {
  Progress progress(shape_of_progress(globals), programs.size());
  std::size_t done = 0;
  return for_each(globals, programs, [&](const ListedProgram& listed) {
    ++done;
    const auto trace = runtime.program_of(listed).and_then(
        [&](const Program& program) { return runtime.trace(program, listed.targets.front()); });
    if (!trace) {
      traced.failures.push_back(fmt::format("{}: {}", listed.spec.name, trace.error().message));
      throw Failure(trace.error());
    }
    traced.summary.add(trace->json);
    progress.show(done, done, traced.failures.size(), listed.spec.name);
    return ExitCode::done;
  });
}

}  // namespace kiln::cli
