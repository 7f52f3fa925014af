#include "verbs/ship.h"

#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "output.h"
#include "table.h"
#include "temporary_folder.h"
#include "verbs/inspect.h"

namespace kiln::cli {

namespace {

// Exit status 1 tells that rows were left out; a file that is not there must not look like that.
Cache or_failure(Result<Cache> cache) {
  if (!cache && cache.error().code == ErrorCode::not_found)
    refuse(ErrorCode::io_failed, std::move(cache.error().message));
  return std::move(cache).value();
}

// A bundle is made by a database, which wants a file.
ExitCode write_to_standard_output(
    const Globals& globals,
    const std::function<ExportReport(const std::filesystem::path& file)>& write) {
  std::optional<TemporaryFolder> folder(std::in_place);
  const auto file = folder->path() / "bundle.kiln";
  const auto report = write(file);
  warn_of_skipped(globals, report.skipped);
  std::ifstream bundle(file, std::ios::binary);
  if (!bundle) refuse(ErrorCode::io_failed, fmt::format("cannot read {}", file.string()));
  // It goes before it is copied: who reads standard output may end this process by reading no more.
  folder.reset();
  copy_to_standard_output(bundle);
  if (bundle.bad())
    refuse(ErrorCode::io_failed, "cannot read the bundle from the temporary directory");
  return exit_code_of(report.skipped);
}

}  // namespace

Cache open_whole(const Globals& globals) { return or_failure(open_for_inspection(globals)); }

SigningKey signing_key(const Settings& settings, bool sign) {
  if (sign && settings.signing_key.empty()) {
    refuse(ErrorCode::invalid_argument,
           "--sign: KILN_SIGNING_KEY names the key that signs, and it is not set; kiln key "
           "generate makes one");
  }
  return sign ? settings.signing_key : SigningKey();
}

Cache open_shipped(const std::filesystem::path& file, const Settings& settings) {
  std::error_code error;
  CacheOptions options{.access = Cache::Access::read_only,
                       .trust = settings.cache_trust,
                       .trusted_keys = settings.trusted_keys,
                       .shipped = true};
  if (!std::filesystem::is_directory(file, error))
    return or_failure(Cache::open_bundle(file, std::move(options)));
  return or_failure(open_folder(
      file, std::move(options),
      ": name a bundle that `kiln export` wrote, or a directory that kiln has used as a cache"));
}

Json skipped_json(const std::vector<Finding>& skipped) {
  auto list = Json::array();
  for (const auto& row : skipped) {
    list.push_back({{"what", row.what}, {"name", row.name}, {"problem", row.problem}});
  }
  return list;
}

void warn_of_skipped(const Globals& globals, const std::vector<Finding>& skipped) {
  std::vector<std::string> lines;
  lines.reserve(skipped.size());
  for (const auto& row : skipped)
    lines.push_back(fmt::format("{} {}: {}; left out", row.what, row.name, row.problem));
  warn_of_each(globals, lines);
}

ExitCode write_bundle(const Globals& globals, const std::filesystem::path& bundle,
                      const std::function<ExportReport(const std::filesystem::path& file)>& write,
                      std::size_t missing) {
  check_binary_output(globals, bundle);
  const auto all_there = missing == 0 ? ExitCode::done : ExitCode::findings;
  if (bundle == "-") {
    const auto written = write_to_standard_output(globals, write);
    return written == ExitCode::done ? all_there : written;
  }
  const auto report = write(bundle);
  warn_of_skipped(globals, report.skipped);
  print_report(
      globals,
      {{"bundle", bundle.string()},
       {"entries", report.entries},
       {"signed_entries", report.signed_entries},
       {"missing", missing},
       {"file_bytes", report.file_bytes},
       {"skipped", skipped_json(report.skipped)}},
      field_list(
          {{"bundle", bundle.string()},
           {"entries", report.signed_entries == 0
                           ? std::to_string(report.entries)
                           : fmt::format("{}, {} signed", report.entries, report.signed_entries)},
           {"size", format_bytes(report.file_bytes)},
           {"not in the cache", std::to_string(missing)},
           {"left out", std::to_string(report.skipped.size())}},
          wants_colour(stdout)));
  return report.skipped.empty() ? all_there : ExitCode::findings;
}

}  // namespace kiln::cli
