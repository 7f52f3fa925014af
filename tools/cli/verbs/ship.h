#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <vector>

#include "exit_code.h"
#include "json.h"
#include "kiln/cache.h"
#include "kiln/settings.h"
#include "verbs.h"

namespace kiln::cli {

/// The cache that the command line and the settings name, to be read as a whole. One that is not there is a
/// failure, unlike where somebody only looks into it. Errors: invalid_setting, cache_unusable, io_failed.
[[nodiscard]] Cache open_whole(const Globals& globals);

/// A bundle, or the cache in a folder, read-only. Errors: cache_unusable, io_failed.
[[nodiscard]] Cache open_shipped(const std::filesystem::path& file, const Settings& settings);

/// The key of KILN_SIGNING_KEY where `sign` asks for it; else none. Errors: invalid_argument where none is set.
[[nodiscard]] SigningKey signing_key(const Settings& settings, bool sign);

[[nodiscard]] Json skipped_json(const std::vector<Finding>& skipped);

/// Warns of what was left out, a line each.
void warn_of_skipped(const Globals& globals, const std::vector<Finding>& skipped);

/// Has a bundle written to a file, or for "-" to standard output, and reports what it holds: not there, where the bundle
/// itself is. `missing`: how much of what was asked for is not in it. Gives the exit status that it deserves. Errors: those of
/// `write`; as check_binary_output(); io_failed.
ExitCode write_bundle(const Globals& globals, const std::filesystem::path& bundle,
                      const std::function<ExportReport(const std::filesystem::path& file)>& write,
                      std::size_t missing = 0);

[[nodiscard]] constexpr ExitCode exit_code_of(const std::vector<Finding>& skipped) noexcept {
  return skipped.empty() ? ExitCode::done : ExitCode::findings;
}

}  // namespace kiln::cli
