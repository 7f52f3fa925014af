#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>

#include <fmt/format.h>

#include "json.h"
#include "kiln/settings.h"
#include "output.h"
#include "table.h"
#include "verbs.h"
#include "verbs/inspect.h"

namespace kiln::cli {

namespace {

// SQLite's codes for a file that is damaged, and for one that is no database: it sets them in Error.
constexpr int sqlite_corrupt = 11;
constexpr int sqlite_no_database = 26;

Json finding_json(const Finding& finding) {
  return {{"what", finding.what}, {"name", finding.name}, {"problem", finding.problem}};
}

std::string verdict(const VerifyReport& report) {
  const auto looked_at = fmt::format("{} entries, {} texts and {} dependency sets", report.entries,
                                     report.texts, report.dependency_sets);
  const auto left_out = report.texts_left_out == 0
                            ? std::string()
                            : fmt::format(
                                  "; {} times they name a source or a header that is not kept for "
                                  "them, which changes "
                                  "nothing of what is served",
                                  report.texts_left_out);
  if (report.findings.empty()) return looked_at + ": all sound" + left_out;
  return fmt::format("{}: {} finding{}{}", looked_at, report.findings.size(),
                     report.findings.size() == 1 ? "" : "s", left_out);
}

/// For people; a file that is damaged all over has thousands.
constexpr std::size_t most_findings_shown = 20;

Json report_json(const std::string& file, const VerifyReport& report) {
  auto set_aside = Json::array();
  for (const auto& path : report.set_aside) set_aside.push_back(path.string());
  return {{"file", file},
          {"entries", report.entries},
          {"texts", report.texts},
          {"dependency_sets", report.dependency_sets},
          {"texts_left_out", report.texts_left_out},
          {"findings", report.findings.size()},
          {"set_aside", set_aside}};
}

// Each finding, then the verdict.
void print(const Globals& globals, const std::string& file, const VerifyReport& report) {
  if (globals.json) {
    for (const auto& finding : report.findings) print_json(finding_json(finding));
    print_json(report_json(file, report));
    return;
  }
  if (!report.findings.empty()) {
    Table table({{"WHAT"}, {"NAME"}, {"PROBLEM"}});
    const auto shown = std::min(report.findings.size(), most_findings_shown);
    for (const auto& [what, name, problem] : std::span(report.findings).first(shown))
      table.add({what, name, problem});
    put_text(table.text(wants_colour(stdout), width_of(stdout)));
    if (const auto more = report.findings.size() - shown; more > 0)
      put("and {} more, which --json lists\n", more);
    put("\n");
  }
  for (const auto& path : report.set_aside) {
    put("{} is an earlier generation, kept aside and not looked at\n", path.string());
  }
  put("{}: {}\n", file, verdict(report));
}

/// None where nobody asks for signatures.
TrustedKeys keys_to_verify(const Globals& globals, const VerifyWords& words) {
  if (!words.signatures) return {};
  auto keys = settings_of(globals).trusted_keys;
  if (keys.empty()) {
    refuse(
        ErrorCode::invalid_argument,
        "--signatures: KILN_TRUSTED_KEYS names the keys whose signatures count, and it is not set");
  }
  return keys;
}

void print_signers(const Globals& globals, const SignatureReport& report) {
  for (const auto& [signer, entries] : report.signers) {
    if (globals.json) {
      print_json({{"signer", signer}, {"signed_entries", entries}});
    } else {
      put("{} of {} entries are as {} signed them\n", entries, report.entries, signer);
    }
  }
}

bool is_damage(const Error& error) {
  const int code = error.vendor_code & 0xff;
  return code == sqlite_corrupt || code == sqlite_no_database;
}

}  // namespace

ExitCode verify(const Globals& globals, const VerifyWords& words) {
  const auto keys = keys_to_verify(globals, words);
  auto cache = open_for_inspection(globals);
  if (!cache && is_damage(cache.error())) {
    const auto settings = resolve_settings(asked_settings(globals));
    const auto directory = settings ? settings->cache_directory.string() : std::string();
    VerifyReport report;
    report.findings.push_back({"file", directory, cache.error().message});
    print(globals, directory, report);
    return ExitCode::findings;
  }
  auto report = cache.value().verify(words.deep).value();
  const bool is_damaged = !report.findings.empty();
  if (!keys.empty()) {
    auto signed_ones = cache->verify_signatures(keys).value();
    std::ranges::move(signed_ones.findings, std::back_inserter(report.findings));
    print_signers(globals, signed_ones);
  }
  print(globals, cache->file().string(), report);
  if (is_damaged && !globals.json && !names_bundle(settings_of(globals))) {
    put("what is damaged is not served, and is stored anew when it is made again; kiln clear KEY "
        "removes an entry\n");
  }
  return report.findings.empty() ? ExitCode::done : ExitCode::findings;
}

}  // namespace kiln::cli
