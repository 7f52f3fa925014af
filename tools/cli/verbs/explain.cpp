#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "json.h"
#include "kiln/kiln.h"
#include "output.h"
#include "table.h"
#include "verbs.h"
#include "verbs/entry_list.h"
#include "verbs/inspect.h"
#include "verbs/program_items.h"
#include "verbs/program_words.h"
#include "verbs/store.h"

namespace kiln::cli {

namespace {

// A screenful; a new version of a library changes hundreds of headers.
constexpr std::size_t differences_on_a_terminal = 20;

Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json nearest_json(const NearestEntry& nearest) {
  auto differences = Json::array();
  for (const auto& difference : nearest.differences) {
    differences.push_back({{"field", to_string(difference.field)}, {"text", difference.text}});
  }
  return {{"key", nearest.key.hex()},       {"program", nearest.program},
          {"arch", nearest.arch},           {"image", nearest.kind},
          {"toolchain", nearest.toolchain}, {"origin", to_string(nearest.origin)},
          {"file", nearest.file},           {"differences", std::move(differences)}};
}

Json offers_json(const std::vector<StoreOffers>& offers) {
  auto list = Json::array();
  for (const auto& [url, entries] : offers)
    list.push_back({{"url", url},
                    {"entries", entries ? Json(*entries) : Json()},
                    {"problem", entries ? Json() : Json(entries.error().message)}});
  return list;
}

Json explanation_json(const Explanation& explanation, const std::vector<StoreOffers>& offers) {
  const bool hit = explanation.hit;
  return {{"program", explanation.program},
          {"arch", explanation.arch},
          {"image", explanation.kind},
          {"request", explanation.request.hex()},
          {"hit", hit},
          {"origin", hit ? Json(to_string(explanation.origin)) : Json()},
          {"key", hit ? Json(explanation.key.hex()) : Json()},
          {"remark", or_null(explanation.remark)},
          {"reason", or_null(explanation.reason)},
          {"not_stored", or_null(explanation.not_stored)},
          {"nearest", explanation.nearest ? nearest_json(*explanation.nearest) : Json()},
          {"remotes", offers_json(offers)}};
}

std::string lines(const std::vector<Difference>& differences) {
  const auto shown = is_terminal(stdout) ? std::min(differences.size(), differences_on_a_terminal)
                                         : differences.size();
  std::string text;
  for (std::size_t index = 0; index < shown; ++index) {
    text += (index == 0 ? "" : "\n") + differences[index].text;
  }
  if (shown < differences.size()) {
    text += fmt::format("\n… and {} more; --json lists them", differences.size() - shown);
  }
  return text;
}

std::string text_of(const std::vector<StoreOffers>& offers, bool signed_only) {
  const auto* by_whom = signed_only ? ", signed by a key in KILN_TRUSTED_KEYS" : "";
  std::vector<std::string> lines;
  lines.reserve(offers.size());
  for (const auto& [url, entries] : offers)
    lines.push_back(
        fmt::format("{}: {}", url,
                    entries ? counted(*entries, "entry", "entries") + " for this request" + by_whom
                            : entries.error().message));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::string text_of(const Explanation& explanation, const std::vector<StoreOffers>& offers,
                    bool signed_only, bool colour) {
  std::vector<Field> fields;
  if (explanation.hit) {
    fields.emplace_back("key", explanation.key.hex());
    fields.emplace_back("origin", to_string(explanation.origin));
    if (!explanation.remark.empty()) fields.emplace_back("remark", explanation.remark);
  } else {
    fields.emplace_back("request", explanation.request.hex());
    fields.emplace_back("reason", explanation.reason);
  }
  if (const auto& nearest = explanation.nearest) {
    fields.emplace_back(
        "nearest", fmt::format("{}: {} for {} ({}), {}, in {}", nearest->key.hex().substr(0, 12),
                               nearest->program, nearest->arch, nearest->kind, nearest->toolchain,
                               nearest->file));
    fields.emplace_back("differs in", lines(nearest->differences));
  } else if (!explanation.hit) {
    fields.emplace_back("nearest", "no entry has this source or this program name");
  }
  if (!offers.empty()) fields.emplace_back("shared stores", text_of(offers, signed_only));
  if (!explanation.not_stored.empty()) fields.emplace_back("not kept", explanation.not_stored);
  const auto title = fmt::format("{} for {} ({}): {}", explanation.program, explanation.arch,
                                 explanation.kind, explanation.hit ? "hit" : "miss");
  return bold(title, colour) + '\n' + field_list(fields, colour);
}

// Before a compile they are asked.
std::vector<StoreOffers> offers_for(const Globals& globals, Runtime& runtime,
                                    const Program& program, const Target& target) {
  if (runtime.settings().remotes.empty()) return {};
  const auto request = runtime.request(program, target);
  return request ? offers_of_remotes(globals, *request) : std::vector<StoreOffers>();
}

}  // namespace

ExitCode explain(const Globals& globals, const ProgramWords& words) {
  check_program_words(words, {words.file});
  auto runtime = open_runtime_to_look(globals);
  return for_each_program(globals, runtime, words, words.file, [&](const ProgramItem& item) {
    return for_each(globals, item.targets, [&](const Target& target) {
      auto explanation = runtime.explain(item.program, target).value();
      explanation.not_stored = with_given_name(std::move(explanation.not_stored), words);
      const auto offers = explanation.hit ? std::vector<StoreOffers>()
                                          : offers_for(globals, runtime, item.program, target);
      print_report(globals, explanation_json(explanation, offers),
                   text_of(explanation, offers, !runtime.settings().trusted_keys.empty(),
                           wants_colour(stdout)));
      return explanation.hit ? ExitCode::done : ExitCode::findings;
    });
  });
}

}  // namespace kiln::cli
