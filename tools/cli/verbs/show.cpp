#include <algorithm>
#include <cstddef>
#include <ctime>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "json.h"
#include "kiln/resources.h"
#include "output.h"
#include "table.h"
#include "verbs.h"
#include "verbs/entry_choice.h"
#include "verbs/inspect.h"

namespace kiln::cli {

namespace {

// A screenful; a CUB kernel has hundreds.
constexpr std::size_t dependencies_on_a_terminal = 20;

std::string lines(const std::vector<std::string>& texts) {
  return texts.empty() ? "-" : fmt::format("{}", fmt::join(texts, "\n"));
}

std::string parameters_text(const KernelInfo& kernel) {
  if (!kernel.params_known) return "-";
  std::vector<std::string> sizes;
  for (const auto& param : kernel.params)
    sizes.push_back(fmt::format("{}@{}", param.size, param.offset));
  return sizes.empty() ? "none" : fmt::format("{}", fmt::join(sizes, " "));
}

std::string general_text(const StoredEntry& entry, const std::vector<std::string>& signers,
                         bool colour) {
  const auto& summary = entry.summary;
  return field_list(
      {{"key", summary.key.hex()},
       {"program", summary.program},
       {"arch", summary.arch},
       {"image", fmt::format("{}, {} ({} stored)", summary.kind, format_bytes(summary.image_bytes),
                             format_bytes(summary.stored_bytes))},
       {"engine", summary.engine.empty() ? "none" : summary.engine},
       {"toolchain",
        fmt::format("{}, identity {}", entry.toolchain.text, entry.toolchain.identity.hex())},
       {"compiled", fmt::format("{}, {} ago, in {}", format_time(summary.created),
                                format_age(summary.created, std::time(nullptr)),
                                format_duration(summary.compile_us))},
       {"says signed by", signers.empty() ? "nobody" : lines(signers)},
       {"source", fmt::format("{}, digest {}", format_bytes(entry.request.source_bytes),
                              entry.request.source.hex())},
       {"options", lines(entry.request.options)},
       {"expressions", lines(entry.request.expressions)}},
      colour);
}

std::string kernels_text(const Artifact& artifact, bool colour) {
  Table table({{"KERNEL"},
               {"REGISTERS", Align::right},
               {"SPILL STORES", Align::right, 1},
               {"SPILL LOADS", Align::right, 2},
               {"SHARED", Align::right, 3},
               {"LOCAL", Align::right, 5},
               {"CODE", Align::right, 4},
               {"PARAMETERS (SIZE@OFFSET)", Align::left, 7},
               {"SYMBOL", Align::left, 6}});
  const auto code = kernel_code(artifact);
  for (std::size_t at = 0; at < code.size(); ++at) {
    const auto& kernel = artifact.kernels[at];
    const auto& spills = code[at].spills;
    const auto if_known = [&](const std::string& text) { return kernel.params_known ? text : "-"; };
    table.add({kernel.expression, if_known(std::to_string(kernel.registers)),
               spills ? format_bytes(spills->store_bytes) : "-",
               spills ? format_bytes(spills->load_bytes) : "-",
               if_known(format_bytes(kernel.shared_bytes)),
               if_known(format_bytes(kernel.local_bytes)),
               code[at].bytes ? format_bytes(*code[at].bytes) : "-", parameters_text(kernel),
               kernel.symbol});
  }
  return table.text(colour, width_of(stdout));
}

// One header may ask for what another one asked for before.
std::string asker_of(const Dependency& lookup, const std::vector<Dependency>& lookups) {
  if (lookup.parent == Dependency::source_parent) return "the source";
  return lookup.parent < lookups.size() ? lookups[lookup.parent].spelling : "-";
}

std::string dependencies_text(const DependencySet& dependencies, std::size_t limit, bool colour) {
  const auto& lookups = dependencies.lookups;
  Table table({{"DEPENDENCY"}, {"ASKED BY", Align::left, 1}, {"DIGEST", Align::left, 2}, {"PATH"}});
  for (std::size_t i = 0; i < std::min(limit, lookups.size()); ++i) {
    const auto& lookup = lookups[i];
    table.add({lookup.spelling, asker_of(lookup, lookups),
               lookup.content.empty() ? "not there" : lookup.content.hex(), lookup.path});
  }
  auto text = fmt::format("{}: {}\n", bold("dependencies", colour), lookups.size());
  if (!lookups.empty()) text += table.text(colour, width_of(stdout));
  if (lookups.size() > limit) {
    text += fmt::format("… and {} more; --all lists them\n", lookups.size() - limit);
  }
  if (!dependencies.working_directory.empty()) {
    text += fmt::format("compiled in {}\n", dependencies.working_directory);
  }
  return text;
}

void print_for_people(const StoredEntry& entry, const std::vector<std::string>& signers, bool all) {
  const bool colour = wants_colour(stdout);
  const auto limit =
      is_terminal(stdout) && !all ? dependencies_on_a_terminal : entry.dependencies.lookups.size();
  put("{}\n{}\n{}", general_text(entry, signers, colour), kernels_text(entry.artifact, colour),
      dependencies_text(entry.dependencies, limit, colour));
  const auto log = printable(entry.artifact.log, "\n\t");
  if (!log.empty()) put("\n{}\n{}{}", bold("log", colour), log, log.ends_with('\n') ? "" : "\n");
}

Json dependencies_json(const DependencySet& dependencies) {
  auto list = Json::array();
  for (const auto& lookup : dependencies.lookups) {
    const auto or_null = [](bool present, Json value) {
      return present ? std::move(value) : Json();
    };
    const bool in_source = lookup.parent == Dependency::source_parent;
    const Json parent = in_source ? Json("source") : Json(lookup.parent);
    list.push_back({{"spelling", lookup.spelling},
                    {"parent", or_null(lookup.parent != Dependency::no_parent, parent)},
                    {"digest", or_null(!lookup.content.empty(), lookup.content.hex())},
                    {"path", or_null(!lookup.path.empty(), lookup.path)}});
  }
  return list;
}

Json entry_json(const StoredEntry& entry, const std::vector<std::string>& signers) {
  auto document = summary_json(entry.summary);
  document["signers"] = signers;
  document["toolchain_identity"] = entry.toolchain.identity.hex();
  document["source_digest"] = entry.request.source.hex();
  document["source_bytes"] = entry.request.source_bytes;
  document["options"] = entry.request.options;
  document["expressions"] = entry.request.expressions;
  document["kernels"] = kernels_json(entry.artifact);
  document["dependencies"] = dependencies_json(entry.dependencies);
  document["working_directory"] = entry.dependencies.working_directory;
  document["log"] = entry.artifact.log;
  return document;
}

}  // namespace

ExitCode show(const Globals& globals, const ShowWords& words) {
  auto cache = open_for_inspection(globals).value();
  const auto entry = find_entry(cache, words);
  const auto signers = cache.signers(entry.summary.key).value();
  if (globals.json) {
    print_json(entry_json(entry, signers));
  } else {
    print_for_people(entry, signers, words.all);
  }
  return ExitCode::done;
}

}  // namespace kiln::cli
