#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "json.h"
#include "kiln/kiln.h"
#include "kiln/settings.h"
#include "output.h"
#include "settings_text.h"
#include "table.h"
#include "verbs.h"

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
  std::string rights;  ///< E.g. "0700, owned by user 1000"; empty when there is no directory.
  std::optional<CacheStatistics> statistics;
  Verdict can_serve;
};

struct Findings {
  Availability driver;
  Availability compiler;
  Availability linker;
  Availability packer;
  CacheFindings cache;
  std::vector<Setting> settings;

  [[nodiscard]] bool well() const { return cache.can_serve.yes && compiler.available; }
};

std::string rights_of(const fs::path& directory) {
  struct stat status {};
  if (stat(directory.c_str(), &status) != 0) return {};
  return fmt::format("{:04o}, owned by user {}", status.st_mode & 07777u, status.st_uid);
}

// What the first compile would find; doctor itself makes nothing.
Verdict judge_absence(const Settings& settings) {
  if (settings.cache_read_only) {
    return {false, "nothing is kept yet, and KILN_CACHE_READONLY is set"};
  }
  std::error_code ignored;
  auto ancestor = settings.cache_directory;
  while (!fs::exists(ancestor, ignored) && ancestor.has_relative_path()) {
    ancestor = ancestor.parent_path();
  }
  if (access(ancestor.c_str(), W_OK | X_OK) != 0) {
    return {false, ancestor.string() + " is not writable"};
  }
  return {true, "nothing is kept yet; the first compile makes the cache"};
}

std::string entries_text(const CacheStatistics& sums) {
  return sums.entries == 1 ? "1 entry" : fmt::format("{} entries", sums.entries);
}

Verdict judge_cache(const Settings& settings, std::optional<CacheStatistics>& statistics) {
  if (settings.cache_disabled) return {false, "the cache is disabled (KILN_CACHE_DISABLE)"};
  if (!settings.cache_fault.empty()) return {false, settings.cache_fault};
  auto cache = Cache::open(settings.cache_directory, {.access = Cache::Access::read_only,
                                                      .trust_others = settings.cache_trust_others});
  if (!cache && cache.error().code == ErrorCode::not_found) return judge_absence(settings);
  if (!cache) return {false, cache.error().message};
  const auto sums = cache->statistics();
  if (!sums) return {false, sums.error().message};
  statistics = *sums;
  return {true, fmt::format("{} in {}", entries_text(*sums), cache->file().string())};
}

Result<Findings> examine(const Globals& globals) {
  RuntimeOptions options;
  options.cache_directory = globals.cache;
  auto settings = resolve_settings(options);
  if (!settings) return tl::unexpected(settings.error());
  // Only the tools of the machine are asked of the runtime; the cache is looked at apart, unchanged.
  options.cache_disabled = true;
  const auto runtime = Runtime::open(options);
  if (!runtime) return tl::unexpected(runtime.error());

  Findings findings;
  findings.driver = runtime->driver();
  findings.compiler = runtime->compiler();
  findings.linker = runtime->linker();
  findings.packer = runtime->packer();
  findings.cache.directory = settings->cache_directory;
  findings.cache.rights = rights_of(settings->cache_directory);
  findings.cache.can_serve = judge_cache(*settings, findings.cache.statistics);
  findings.settings = std::move(settings->listing);
  return findings;
}

std::string text_of(const Availability& tool) {
  return tool.available ? tool.description : tool.reason;
}

Verdict verdict_of(const Availability& tool) { return {tool.available, text_of(tool)}; }

// One line each: what was found, candidate by candidate, stands above.
std::string line_of(const Verdict& verdict) {
  const auto first_line = verdict.reason.substr(0, verdict.reason.find('\n'));
  return fmt::format("{}: {}", verdict.yes ? "yes" : "no", first_line);
}

std::string state_text(const CacheFindings& cache) {
  if (!cache.statistics) return cache.can_serve.reason;
  return fmt::format("{}, {}", entries_text(*cache.statistics),
                     format_bytes(cache.statistics->file_bytes));
}

void print_for_people(const Findings& findings) {
  const bool colour = wants_colour(stdout);
  const auto found = field_list({{"kiln", KILN_VERSION},
                                 {"CUDA driver", text_of(findings.driver)},
                                 {"compiler", text_of(findings.compiler)},
                                 {"linker", text_of(findings.linker)},
                                 {"fatbins", text_of(findings.packer)},
                                 {"cache", or_dash(findings.cache.directory.string())},
                                 {"cache rights", or_dash(findings.cache.rights)},
                                 {"cache state", state_text(findings.cache)}},
                                colour);
  const auto verdicts = field_list({{"can serve", line_of(findings.cache.can_serve)},
                                    {"can compile", line_of(verdict_of(findings.compiler))},
                                    {"can link", line_of(verdict_of(findings.linker))},
                                    {"can pack", line_of(verdict_of(findings.packer))},
                                    {"can launch", line_of(verdict_of(findings.driver))}},
                                   colour);
  fmt::print("{}\n{}\n{}", found, settings_text(findings.settings, colour), verdicts);
}

Json tool_json(const Availability& tool) {
  return {{"available", tool.available},
          {"description", tool.description},
          {"reason", tool.reason},
          {"path", tool.path.string()}};
}

Json verdict_json(const Verdict& verdict) {
  return {{"yes", verdict.yes}, {"reason", verdict.reason}};
}

Json cache_json(const CacheFindings& cache) {
  Json document{{"directory", cache.directory.string()},
                {"rights", cache.rights},
                {"usable", cache.can_serve.yes},
                {"fault", cache.can_serve.yes ? "" : cache.can_serve.reason}};
  document["entries"] = cache.statistics ? Json(cache.statistics->entries) : Json();
  document["file_bytes"] = cache.statistics ? Json(cache.statistics->file_bytes) : Json();
  return document;
}

Json findings_json(const Findings& findings) {
  auto settings = Json::array();
  for (const auto& setting : findings.settings) settings.push_back(setting_json(setting));
  return {{"version", KILN_VERSION},
          {"driver", tool_json(findings.driver)},
          {"compiler", tool_json(findings.compiler)},
          {"linker", tool_json(findings.linker)},
          {"packer", tool_json(findings.packer)},
          {"cache", cache_json(findings.cache)},
          {"settings", settings},
          {"can_serve", verdict_json(findings.cache.can_serve)},
          {"can_compile", verdict_json(verdict_of(findings.compiler))},
          {"can_link", verdict_json(verdict_of(findings.linker))},
          {"can_pack", verdict_json(verdict_of(findings.packer))},
          {"can_launch", verdict_json(verdict_of(findings.driver))}};
}

}  // namespace

Result<ExitCode> diagnose(const Globals& globals) {
  const auto findings = examine(globals);
  if (!findings) return tl::unexpected(findings.error());
  if (globals.json) {
    print_json(findings_json(*findings));
  } else {
    print_for_people(*findings);
  }
  return findings->well() ? ExitCode::done : ExitCode::findings;
}

}  // namespace kiln::cli
