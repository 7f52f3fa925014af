#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "json.h"
#include "kiln/kiln.h"
#include "kiln/settings.h"
#include "kiln/version.h"
#include "output.h"
#include "settings_text.h"
#include "table.h"
#include "verbs.h"
#include "verbs/inspect.h"
#include "verbs/remote_states.h"

namespace kiln::cli {

namespace {

namespace fs = std::filesystem;

/// Yes or no, and why.
struct Verdict {
  bool yes = false;
  std::string reason;
};

struct CacheFindings {
  fs::path directory;
  std::string rights;  ///< E.g. "0700, owned by user 1000, who alone may write"; empty without one.
  std::string file_system;    ///< E.g. "ext", "nfs"; of the next folder above where there is none.
  fs::path kept_in;           ///< Where the database lies; empty where it has no place.
  std::string why_elsewhere;  ///< Where that is another directory; else empty.
  std::uint64_t room = 0;     ///< Bytes that a user may still write there.
  std::optional<CacheStatistics> statistics;
  Verdict usable;
};

struct BundleFindings {
  fs::path file;
  Verdict usable;
};

struct RemoteFindings {
  RemoteState state;
  Verdict usable;
};

struct ToolFindings {
  const char* name;   ///< In JSON.
  const char* label;  ///< For people.
  Availability found;
};

/// What this machine can do. JSON has its name with underscores.
struct Ability {
  std::string name;
  Verdict verdict;
};

struct Findings {
  std::vector<ToolFindings> tools;
  CacheFindings cache;
  std::vector<BundleFindings> bundles;
  std::vector<RemoteFindings> remotes;
  bool signed_only = false;  ///< Whether only that serves which a trusted key has signed.
  std::vector<Ability> abilities;
  std::vector<Setting> settings;
  std::vector<UnknownVariable> unknown;
  std::vector<std::string> unread_files;
  bool compiles = true;      ///< Whether it is to.
  std::string why_not_well;  ///< Empty where all is well.
};

std::string rights_of(const fs::path& directory) {
  struct stat status {};
  if (stat(directory.c_str(), &status) != 0) return {};
  const auto writers = (status.st_mode & S_IWOTH) != 0 ? "anybody may write"
                       : (status.st_mode & S_IWGRP) != 0
                           ? fmt::format("the members of group {} may write", status.st_gid)
                           : "who alone may write";
  return fmt::format("{:04o}, owned by user {}, {}", status.st_mode & 07777u, status.st_uid,
                     writers);
}

// The folder itself, or the next one above it that there is.
fs::path existing(fs::path folder) {
  std::error_code ignored;
  while (!fs::exists(folder, ignored) && folder.has_relative_path()) folder = folder.parent_path();
  return folder;
}

std::uint64_t room_in(const fs::path& folder) {
  std::error_code unknown;
  const auto space = fs::space(folder, unknown);
  return unknown ? 0 : space.available;
}

bool is_member(gid_t group) {
  const int count = getgroups(0, nullptr);
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(count, 0)));
  if (count > 0 && getgroups(count, groups.data()) != count) return false;
  return geteuid() == 0 || getegid() == group || std::ranges::find(groups, group) != groups.end();
}

// Why this user can put nothing into a folder that is there; empty where it can.
std::string why_not_into(const fs::path& folder) {
  // Root has every right, and yet writes nothing to what is mounted read-only.
  if (access(folder.c_str(), W_OK | X_OK) != 0) return std::strerror(errno);
  return room_in(folder) == 0 ? "no room is left there" : "";
}

// What the first compile would find; doctor itself makes nothing.
Verdict judge_absence(const Settings& settings, const fs::path& directory) {
  if (settings.cache_read_only) {
    return {false, "nothing is kept yet, and KILN_CACHE_READONLY is set"};
  }
  if (settings.mode == Mode::cache_only) {
    return {false, "nothing is kept yet, and nothing is compiled (KILN_MODE)"};
  }
  const auto group = settings.cache_trust.group;
  if (group && !is_member(*group)) {
    return {false, fmt::format("user {} is not in group {} (KILN_CACHE_GROUP)", geteuid(), *group)};
  }
  const auto ancestor = existing(directory);
  if (const auto why = why_not_into(ancestor); !why.empty())
    return {false, fmt::format("{} is not writable: {}", ancestor.string(), why)};
  return {true, "nothing is kept yet; the first compile makes the cache"};
}

std::string entries_text(const CacheStatistics& sums) {
  return sums.entries == 1 ? "1 entry" : fmt::format("{} entries", sums.entries);
}

Verdict judge_cache(const Settings& settings, const fs::path& kept_in,
                    std::optional<CacheStatistics>& statistics) {
  if (settings.cache_disabled) return {false, "the cache is disabled (KILN_CACHE_DISABLE)"};
  if (!settings.cache_fault.empty()) return {false, settings.cache_fault};
  auto cache = Cache::open(settings.cache_directory, {.access = Cache::Access::read_only,
                                                      .trust = settings.cache_trust,
                                                      .trusted_keys = settings.trusted_keys});
  if (!cache && cache.error().code == ErrorCode::not_found) return judge_absence(settings, kept_in);
  if (!cache) return {false, cache.error().message};
  const auto sums = cache->statistics();
  if (!sums) return {false, sums.error().message};
  statistics = *sums;
  auto reason = fmt::format("{} in {}", entries_text(*sums), cache->file().string());
  const auto why = settings.cache_read_only ? std::string() : why_not_into(kept_in);
  if (!why.empty()) reason += fmt::format("; nothing more can be kept: {}", why);
  return {true, std::move(reason)};
}

CacheFindings examine_cache(const Settings& settings) {
  CacheFindings findings;
  findings.directory = settings.cache_directory;
  auto place = place_of_cache(settings.cache_directory, settings.cache_trust);
  findings.file_system = std::move(place.file_system);
  findings.kept_in = std::move(place.directory);
  findings.why_elsewhere = std::move(place.why_elsewhere);
  findings.rights = rights_of(findings.kept_in);
  findings.room = room_in(existing(findings.kept_in));
  findings.usable = judge_cache(settings, findings.kept_in, findings.statistics);
  return findings;
}

BundleFindings examine_bundle(const fs::path& file, const Settings& settings) {
  auto bundle = Cache::open_bundle(
      file, {.trust = settings.cache_trust, .trusted_keys = settings.trusted_keys});
  if (!bundle) return {file, {false, bundle.error().message}};
  const auto sums = bundle->statistics();
  if (!sums) return {file, {false, sums.error().message}};
  return {file, {true, entries_text(*sums)}};
}

bool all_usable(const std::vector<BundleFindings>& bundles) {
  return std::ranges::all_of(bundles, [](const auto& bundle) { return bundle.usable.yes; });
}

// A machine that keeps nothing may still be served from what was shipped.
Verdict judge_serving(const Verdict& cache, const std::vector<BundleFindings>& bundles) {
  if (bundles.empty()) return cache;
  std::vector<std::string> mounted;
  std::vector<std::string> faults;
  for (const auto& [file, usable] : bundles) {
    if (usable.yes) {
      mounted.push_back(fmt::format("{} in {}", usable.reason, file.string()));
    } else {
      faults.push_back(usable.reason);
    }
  }
  std::vector<std::string> parts;
  if (!mounted.empty()) {
    parts.push_back(
        fmt::format("{}{}", fmt::join(mounted, ", "), cache.yes ? "" : ", from bundles alone"));
  }
  parts.push_back("the cache: " + cache.reason);
  if (!faults.empty()) parts.push_back(fmt::format("not mounted: {}", fmt::join(faults, ", ")));
  return {cache.yes || !mounted.empty(), fmt::format("{}", fmt::join(parts, "; "))};
}

RemoteFindings examine_remote(RemoteState state, const Settings& settings) {
  // Into a store goes what was put into the cache.
  state.read_only |= settings.cache_read_only;
  if (state.status) state.status->gives_leases &= !state.read_only;
  const bool is_to_be_made =
      !state.status && state.status.error().code == ErrorCode::not_found && !state.read_only;
  if (is_to_be_made) return {std::move(state), {true, "is made when the first kernel is compiled"}};
  const auto why = why_silent(state);
  std::string answers = "answers";
  if (state.status && state.status->round_trip_us != 0)
    answers += " in " + format_duration(state.status->round_trip_us);
  if (const auto failure = why_not_put(state))
    answers += fmt::format("; it has not taken {} of what was made here; its last failure: {}",
                           state.status->dropped, *failure);
  return {std::move(state), {!why, why ? *why : answers}};
}

Verdict judge_sharing(const Verdict& helper, const std::vector<RemoteFindings>& remotes) {
  if (remotes.empty()) return {false, "no store is named (KILN_REMOTE)"};
  if (!helper.yes) return helper;
  std::vector<std::string> judged;
  judged.reserve(remotes.size());
  for (const auto& [state, usable] : remotes)
    judged.push_back(fmt::format("{}: {}", state.url, usable.reason));
  // It does without any of them.
  return {std::ranges::any_of(remotes, [](const auto& remote) { return remote.usable.yes; }),
          fmt::format("{}", fmt::join(judged, "; "))};
}

Verdict verdict_of(const Availability& tool) {
  return {tool.available, tool.available ? tool.description : tool.reason};
}

Findings examine(const Globals& globals) {
  auto options = asked_settings(globals);
  auto settings = resolve_settings(options).value();
  // Only the tools of the machine are asked of the runtime; the cache is looked at apart, unchanged.
  options.cache_disabled = true;
  options.remotes = settings.remotes;
  const auto runtime = Runtime::open(options).value();

  const auto driver = runtime.driver();
  const auto compiler = runtime.compiler();
  const auto worker = runtime.worker();
  const auto remote_helper = runtime.remote_helper();
  const auto linker = runtime.linker();
  const auto packer = runtime.packer();
  const auto disassembler = runtime.disassembler();
  Findings findings;
  findings.tools = {{"driver", "CUDA driver", driver},
                    {"compiler", "compiler", compiler},
                    {"worker", "worker", worker},
                    {"remote_helper", "remote helper", remote_helper},
                    {"linker", "linker", linker},
                    {"packer", "fatbins", packer},
                    {"disassembler", "disassembler", disassembler}};
  findings.cache = examine_cache(settings);
  for (const auto& file : settings.bundles)
    findings.bundles.push_back(examine_bundle(file, settings));
  for (auto& state : runtime.remotes(true))
    findings.remotes.push_back(examine_remote(std::move(state), settings));
  findings.signed_only = !settings.trusted_keys.empty();
  const auto serving = judge_serving(findings.cache.usable, findings.bundles);
  findings.abilities = {{"can serve", serving},
                        {"can compile", verdict_of(compiler)},
                        {"has workers", verdict_of(worker)},
                        {"can share", judge_sharing(verdict_of(remote_helper), findings.remotes)},
                        {"can link", verdict_of(linker)},
                        {"can pack", verdict_of(packer)},
                        {"can disassemble", verdict_of(disassembler)},
                        {"can launch", verdict_of(driver)}};
  findings.compiles = settings.mode != Mode::cache_only;
  if (!serving.yes || (findings.compiles && !compiler.available)) {
    findings.why_not_well = fmt::format("this machine cannot {}",
                                        findings.compiles ? "both serve and compile" : "serve");
  } else if (!all_usable(findings.bundles)) {
    findings.why_not_well = "not every bundle that is named can be used";
  }
  findings.settings = std::move(settings.listing);
  findings.unknown = std::move(settings.unknown);
  findings.unread_files = std::move(settings.unread_files);
  return findings;
}

// Where something was looked for stands in further lines, which the first one may announce.
std::string first_line(const std::string& text) {
  constexpr std::string_view announced = " Looked at:";
  auto line = text.substr(0, text.find('\n'));
  if (line.ends_with(announced)) line.resize(line.size() - announced.size());
  return line;
}

// A reason begins with the tool's name, which its label says already.
std::string below_label(std::string_view label, std::string text) {
  if (text.starts_with(label) && text.substr(label.size()).starts_with(": "))
    text.erase(0, label.size() + 2);
  return text;
}

std::string text_of(const Availability& tool, bool verbose) {
  if (!verbose) return first_line(tool.available ? tool.description : tool.reason);
  if (!tool.available) return tool.reason;
  std::string text = tool.description;
  for (const auto& detail : tool.details) text += "\n  " + detail;
  return text;
}

// One line each: what was found, candidate by candidate, stands above.
std::string line_of(const Verdict& verdict) {
  return fmt::format("{}: {}", verdict.yes ? "yes" : "no", first_line(verdict.reason));
}

std::string state_text(const CacheFindings& cache) {
  if (!cache.statistics) return cache.usable.reason;
  return fmt::format("{}, {}", entries_text(*cache.statistics),
                     format_bytes(cache.statistics->file_bytes));
}

std::string place_text(const CacheFindings& cache) {
  if (cache.kept_in.empty()) return or_dash(cache.why_elsewhere);
  if (!cache.why_elsewhere.empty())
    return fmt::format("{}; {} free there", cache.why_elsewhere, format_bytes(cache.room));
  return fmt::format("{}, {} free", cache.file_system, format_bytes(cache.room));
}

std::string bundles_text(const std::vector<BundleFindings>& bundles) {
  std::vector<std::string> lines;
  lines.reserve(bundles.size());
  for (const auto& bundle : bundles)
    lines.push_back(fmt::format("{}: {}", bundle.file.string(), bundle.usable.reason));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::string remotes_text(const Findings& findings) {
  std::vector<std::string> lines;
  lines.reserve(findings.remotes.size());
  for (const auto& [state, usable] : findings.remotes) {
    auto line = fmt::format("{}: {}", state.url, usable.reason);
    if (usable.yes) {
      line += state.read_only ? ", only read" : ", read and written";
      if (state.status && state.status->gives_leases) line += ", gives leases";
      line += findings.signed_only ? "; serves what a trusted key has signed"
                                   : "; serves without signatures (KILN_TRUSTED_KEYS)";
    }
    lines.push_back(std::move(line));
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::string unknown_text(const std::vector<UnknownVariable>& unknown) {
  std::vector<std::string> lines;
  lines.reserve(unknown.size());
  for (const auto& [variable, meant, file] : unknown) {
    lines.push_back(fmt::format("{}{}{}", variable, file.empty() ? "" : " in " + file,
                                meant.empty() ? "" : fmt::format(": did you mean {}?", meant)));
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

// Those that somebody has set, or all.
std::string settings_found(const std::vector<Setting>& all, bool verbose, bool colour) {
  if (verbose) return settings_text(all, colour, width_of(stdout));
  std::vector<Setting> set;
  std::copy_if(all.begin(), all.end(), std::back_inserter(set),
               [](const Setting& setting) { return setting.origin != "default"; });
  if (set.empty()) return "all settings are the defaults; kiln config lists them\n";
  return settings_text(set, colour, width_of(stdout)) +
         "the others are the defaults; kiln config lists them\n";
}

void print_for_people(const Findings& findings, bool verbose) {
  const bool colour = wants_colour(stdout);
  std::vector<Field> found{{"kiln", version()}};
  for (const auto& [name, label, tool] : findings.tools)
    found.emplace_back(label, below_label(label, text_of(tool, verbose)));
  found.emplace_back("cache", or_dash(findings.cache.directory.string()));
  found.emplace_back("cache rights", or_dash(findings.cache.rights));
  found.emplace_back("cache place", place_text(findings.cache));
  found.emplace_back("cache state", state_text(findings.cache));
  found.emplace_back("bundles", or_dash(bundles_text(findings.bundles)));
  found.emplace_back("shared stores", or_dash(remotes_text(findings)));
  if (!findings.unknown.empty())
    found.emplace_back("unknown settings", unknown_text(findings.unknown));
  if (!findings.unread_files.empty())
    found.emplace_back("left out", fmt::format("{}", fmt::join(findings.unread_files, "\n")));
  std::vector<Field> abilities;
  for (const auto& [name, verdict] : findings.abilities)
    abilities.emplace_back(name, line_of(verdict));
  put("{}\n{}\n{}", field_list(found, colour), settings_found(findings.settings, verbose, colour),
      field_list(abilities, colour));
  if (!verbose) put("kiln doctor --verbose tells where everything was looked for\n");
  if (!findings.why_not_well.empty())
    put("{}, so the exit code is {}\n", findings.why_not_well,
        static_cast<int>(ExitCode::findings));
}

Json tool_json(const Availability& tool) {
  return {{"available", tool.available},
          {"description", tool.description},
          {"reason", tool.reason},
          {"path", tool.path.string()},
          {"details", tool.details}};
}

Json cache_json(const CacheFindings& cache) {
  Json document{{"directory", cache.directory.string()},
                {"rights", cache.rights},
                {"file_system", cache.file_system},
                {"kept_in", cache.kept_in.string()},
                {"free_bytes", cache.room},
                {"usable", cache.usable.yes},
                {"reason", cache.usable.reason}};
  document["entries"] = cache.statistics ? Json(cache.statistics->entries) : Json();
  document["file_bytes"] = cache.statistics ? Json(cache.statistics->file_bytes) : Json();
  return document;
}

Json findings_json(const Findings& findings) {
  Json document{{"version", version()}};
  for (const auto& tool : findings.tools) document[tool.name] = tool_json(tool.found);
  document["cache"] = cache_json(findings.cache);
  auto bundles = Json::array();
  for (const auto& bundle : findings.bundles) {
    bundles.push_back({{"file", bundle.file.string()},
                       {"usable", bundle.usable.yes},
                       {"reason", bundle.usable.reason}});
  }
  auto remotes = Json::array();
  for (const auto& [state, usable] : findings.remotes) {
    remotes.push_back({{"url", state.url},
                       {"usable", usable.yes},
                       {"reason", usable.reason},
                       {"read_only", state.read_only},
                       {"signed_only", findings.signed_only},
                       {"gives_leases", state.status ? Json(state.status->gives_leases) : Json()},
                       {"round_trip_ms", round_trip_json(state)}});
  }
  auto settings = Json::array();
  for (const auto& setting : findings.settings) settings.push_back(setting_json(setting));
  document["bundles"] = std::move(bundles);
  document["remotes"] = std::move(remotes);
  document["settings"] = std::move(settings);
  auto unknown = Json::array();
  const auto if_any = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  for (const auto& [variable, meant, file] : findings.unknown) {
    unknown.push_back({{"variable", variable}, {"meant", if_any(meant)}, {"file", if_any(file)}});
  }
  document["unknown_variables"] = std::move(unknown);
  document["unread_files"] = findings.unread_files;
  for (auto [name, verdict] : findings.abilities) {
    std::replace(name.begin(), name.end(), ' ', '_');
    document[name] = {{"yes", verdict.yes}, {"reason", verdict.reason}};
  }
  return document;
}

}  // namespace

ExitCode diagnose(const Globals& globals, const DoctorWords& words) {
  const auto findings = examine(globals);
  if (globals.json) {
    print_json(findings_json(findings));
  } else {
    print_for_people(findings, words.verbose);
  }
  return findings.why_not_well.empty() ? ExitCode::done : ExitCode::findings;
}

}  // namespace kiln::cli
