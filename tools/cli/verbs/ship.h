#pragma once

#include <filesystem>
#include <vector>

#include "exit_code.h"
#include "json.h"
#include "kiln/cache.h"
#include "verbs.h"

namespace kiln::cli {

/// The cache that the command line and the settings name, to be read as a whole. Unlike for a look into
/// it, one that is not there is a failure. Errors: invalid_setting, cache_unusable, io_failed.
[[nodiscard]] Cache open_whole(const Globals& globals);

/// A bundle, or the cache in a folder, read-only. Errors: cache_unusable, io_failed.
[[nodiscard]] Cache open_shipped(const std::filesystem::path& file);

[[nodiscard]] Json skipped_json(const std::vector<Finding>& skipped);

/// Says what was left out, a line each, as warnings.
void warn_of_skipped(const Globals& globals, const std::vector<Finding>& skipped);

/// What a bundle that was written holds, for people or for programs, and the exit status it deserves.
ExitCode tell_of_bundle(const Globals& globals, const std::filesystem::path& bundle,
                        const ExportReport& report);

[[nodiscard]] constexpr ExitCode exit_code_of(const std::vector<Finding>& skipped) noexcept {
  return skipped.empty() ? ExitCode::done : ExitCode::findings;
}

}  // namespace kiln::cli
