#pragma once

#include <filesystem>
#include <vector>

#include "exit_code.h"
#include "json.h"
#include "kiln/cache.h"
#include "verbs.h"

namespace kiln::cli {

/// The cache that the command line and the settings name, to be read as a whole. One that is not there is a
/// failure, unlike where somebody only looks into it. Errors: invalid_setting, cache_unusable, io_failed.
[[nodiscard]] Cache open_whole(const Globals& globals);

/// A bundle, or the cache in a folder, read-only. Errors: cache_unusable, io_failed.
[[nodiscard]] Cache open_shipped(const std::filesystem::path& file);

[[nodiscard]] Json skipped_json(const std::vector<Finding>& skipped);

/// Warns of what was left out, a line each.
void warn_of_skipped(const Globals& globals, const std::vector<Finding>& skipped);

/// Reports what a bundle that was written holds, and gives the exit status that it deserves.
ExitCode tell_of_bundle(const Globals& globals, const std::filesystem::path& bundle,
                        const ExportReport& report);

[[nodiscard]] constexpr ExitCode exit_code_of(const std::vector<Finding>& skipped) noexcept {
  return skipped.empty() ? ExitCode::done : ExitCode::findings;
}

}  // namespace kiln::cli
