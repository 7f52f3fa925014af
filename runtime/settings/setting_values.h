#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/cache_trust.h"
#include "kiln/error.h"
#include "kiln/settings.h"

namespace kiln::settings {

// Each reads what a variable is set to, which is not empty; or an option that is text, which may be. Errors: invalid_setting,
// naming the variable, its value and what it may be.

Result<std::string> as_it_is(const char* variable, const std::string& value);
Result<bool> parse_flag(const char* variable, const std::string& value);
/// One that is absolute: where a process happens to stand decides nothing.
Result<std::filesystem::path> parse_path(const char* variable, const std::filesystem::path& value);
/// Separated by colons.
Result<std::vector<std::filesystem::path>> parse_paths(const char* variable,
                                                       const std::string& value);
/// Its error does not repeat the value, which may be the key itself.
Result<std::filesystem::path> parse_key_file(const char* variable,
                                             const std::filesystem::path& value);
Result<LogLevel> parse_log_level(const char* variable, const std::string& value);
Result<std::string> parse_engine(const char* variable, const std::string& value);
Result<Mode> parse_mode(const char* variable, const std::string& value);
Result<std::uint64_t> parse_size(const char* variable, const std::string& value);
Result<std::uint64_t> parse_size_or_none(const char* variable, const std::string& value);
Result<std::uint64_t> parse_memory(const char* variable, const std::string& value);
Result<std::chrono::milliseconds> parse_seconds(const char* variable, const std::string& value);
Result<std::chrono::milliseconds> parse_milliseconds(const char* variable,
                                                     const std::string& value);
Result<std::size_t> parse_count(const char* variable, const std::string& value);
Result<unsigned> parse_workers(const char* variable, const std::string& value);
Result<std::string> parse_toolchains(const char* variable, const std::string& value);
/// Of a trust, whose directories are accepted.
Result<CacheTrust> parse_owners(const char* variable, const std::string& value);
/// A name or an id; nothing for an empty one.
Result<std::optional<std::uint32_t>> parse_group(const char* variable, const std::string& value);

// As they are listed.

std::string text_of(bool value);
std::string text_of(unsigned workers);
std::string text_of(std::uint64_t count);
std::string text_of(std::chrono::milliseconds value);
std::string text_of(const std::filesystem::path& value);
std::string text_of(const std::vector<std::filesystem::path>& paths);
std::string text_of(Mode value);
std::string text_of(LogLevel value);

/// Where a value's type tells how it is written.
inline constexpr auto text_of_any = [](const auto& value) { return text_of(value); };

/// As parse_memory() and parse_size() read it: with a unit if it is a whole number of that, 5G.
std::string text_of_size(std::uint64_t bytes);

/// The same in milliseconds, of a setting that is told in these.
std::string text_of_milliseconds(std::chrono::milliseconds value);

/// That a value is not `expected`, a noun and what to use.
Error nonsense(std::string_view variable, std::string_view value, std::string_view expected);

}  // namespace kiln::settings
