#include "settings/setting_values.h"

#include <grp.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "image/toolchains.h"
#include "kiln/size.h"

namespace kiln::settings {
namespace {

constexpr std::array<std::pair<std::string_view, LogLevel>, 4> log_levels{
    {{"off", LogLevel::off},
     {"warn", LogLevel::warn},
     {"info", LogLevel::info},
     {"debug", LogLevel::debug}}};

// A number that is whole, and no more than an id can be; the last one means "no id".
std::optional<std::uint32_t> parse_id(std::string_view text) {
  std::uint32_t id = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, id);
  if (error != std::errc() || rest != end || id == static_cast<std::uint32_t>(-1))
    return std::nullopt;
  return id;
}

// Whether it would be a size if its number were a smaller one.
bool is_too_large(const std::string& size) {
  const auto rest = size.find_first_not_of("0123456789");
  return rest != 0 && parse_bytes("1" + size.substr(std::min(rest, size.size()))) &&
         !parse_bytes(size);
}

constexpr unsigned most_workers = 1024;

tl::unexpected<Error> refuse(std::string_view variable, std::string_view value,
                             std::string_view expected) {
  return tl::unexpected(nonsense(variable, value, expected));
}

template <class Unit>
Result<std::chrono::milliseconds> parse_up_to_a_day(const char* variable, const std::string& value,
                                                    const char* what) {
  constexpr unsigned a_day = Unit(std::chrono::hours(24)).count();
  unsigned count = 0;
  const char* end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, count);
  if (error != std::errc() || rest != end || count > a_day) return refuse(variable, value, what);
  return Unit(count);
}

}  // namespace

// An address that was meant for another variable may have a password in it.
Error nonsense(std::string_view variable, std::string_view value, std::string_view expected) {
  const bool is_address = value.find("://") != std::string_view::npos;
  return {ErrorCode::invalid_setting,
          fmt::format("{}: '{}' is not {}", variable, is_address ? "..." : value, expected)};
}

Result<std::string> as_it_is(const char* /*variable*/, const std::string& value) { return value; }

Result<bool> parse_flag(const char* variable, const std::string& value) {
  for (const auto* yes : {"1", "true", "yes", "on"}) {
    if (value == yes) return true;
  }
  for (const auto* no : {"0", "false", "no", "off"}) {
    if (value == no) return false;
  }
  return refuse(variable, value, "a switch: use 1 or 0 (or true/false, yes/no, on/off)");
}

Result<std::filesystem::path> parse_path(const char* variable, const std::filesystem::path& value) {
  // A relative path would make the result depend on where the process happens to stand.
  if (!value.is_absolute()) return refuse(variable, value.string(), "an absolute path");
  return value.lexically_normal();
}

// Who sets the key itself in the place of its file shall not find it in a log.
Result<std::filesystem::path> parse_key_file(const char* variable,
                                             const std::filesystem::path& value) {
  if (value.is_absolute()) return value.lexically_normal();
  return fail(
      ErrorCode::invalid_setting,
      fmt::format("{}: what is set, which is not repeated here, is not the absolute path of "
                  "a key's file",
                  variable));
}

Result<LogLevel> parse_log_level(const char* variable, const std::string& value) {
  for (const auto& [name, level] : log_levels) {
    if (value == name) return level;
  }
  return refuse(variable, value, "a log level: use off, warn, info or debug");
}

Result<std::string> parse_engine(const char* variable, const std::string& value) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (std::any_of(value.begin(), value.end(), is_control))
    return refuse(variable, value, "an engine's name: leave control characters out");
  return value;
}

Result<Mode> parse_mode(const char* variable, const std::string& value) {
  for (const auto mode : {Mode::jit, Mode::warn, Mode::cache_only}) {
    if (value == to_string(mode)) return mode;
  }
  return refuse(variable, value, "a mode: use jit, warn or cache-only");
}

Result<std::uint64_t> parse_size(const char* variable, const std::string& value) {
  const auto bytes = parse_bytes(value);
  if (!bytes && is_too_large(value))
    return refuse(variable, value, "below 16777216T: use a smaller size, such as 5G");
  if (!bytes || *bytes == 0) {
    return refuse(variable, value,
                  "a size above nothing: use a number with K, M, G or T, such as 5G");
  }
  return *bytes;
}

Result<std::uint64_t> parse_memory(const char* variable, const std::string& value) {
  return value == "auto" ? Result<std::uint64_t>(automatic_memory) : parse_size(variable, value);
}

Result<std::uint64_t> parse_size_or_none(const char* variable, const std::string& value) {
  if (parse_bytes(value) == 0) return 0;
  auto bytes = parse_size(variable, value);
  if (!bytes && !is_too_large(value))
    return refuse(variable, value, "a size: use a number with K, M, G or T, such as 5G; or 0");
  return bytes;
}

Result<std::chrono::milliseconds> parse_seconds(const char* variable, const std::string& value) {
  return parse_up_to_a_day<std::chrono::seconds>(variable, value,
                                                 "a number of seconds, at most a day");
}

Result<std::chrono::milliseconds> parse_milliseconds(const char* variable,
                                                     const std::string& value) {
  return parse_up_to_a_day<std::chrono::milliseconds>(variable, value,
                                                      "a number of milliseconds, at most a day");
}

Result<std::size_t> parse_count(const char* variable, const std::string& value) {
  std::size_t count = 0;
  const char* end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, count);
  if (error != std::errc() || rest != end || count == 0) {
    return refuse(variable, value, "a number above nothing");
  }
  return count;
}

Result<unsigned> parse_workers(const char* variable, const std::string& value) {
  if (value == "auto") return automatic_workers;
  unsigned workers = 0;
  const char* end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, workers);
  if (error != std::errc() || rest != end || workers > most_workers) {
    return refuse(variable, value,
                  fmt::format("a number of workers, at most {}, or auto", most_workers));
  }
  return workers;
}

Result<std::vector<std::filesystem::path>> parse_paths(const char* variable,
                                                       const std::string& value) {
  std::vector<std::filesystem::path> paths;
  std::istringstream list(value);
  for (std::string item; std::getline(list, item, ':');) {
    if (item.empty()) continue;
    auto path = parse_path(variable, item);
    if (!path) return tl::unexpected(path.error());
    paths.push_back(std::move(*path));
  }
  return paths;
}

Result<std::string> parse_toolchains(const char* variable, const std::string& value) {
  if (EligibleToolchains::parse(value)) return value;
  return refuse(variable, value,
                "a rule for compilers: use own, same-major, any, or one as `kiln show` names it, "
                "such as 'NVRTC 12.8'");
}

Result<CacheTrust> parse_owners(const char* variable, const std::string& value) {
  CacheTrust trust;
  std::istringstream list(value);
  for (std::string owner; std::getline(list, owner, ',');) {
    const auto id = owner == "root" ? 0 : parse_id(owner);
    trust.any_owner |= owner == "any";
    if (id) trust.owners.push_back(*id);
    if (!id && owner != "any") {
      return refuse(variable, value,
                    "a list of owners: use root, user ids separated by commas, or any");
    }
  }
  return trust;
}

Result<std::optional<std::uint32_t>> parse_group(const char* variable, const std::string& value) {
  if (value.empty()) return std::nullopt;
  if (const auto id = parse_id(value)) return id;
  struct group group {};
  struct group* found = nullptr;
  // The entry of a group, or of one before it, may be long.
  std::vector<char> entry(1024);
  while (::getgrnam_r(value.c_str(), &group, entry.data(), entry.size(), &found) == ERANGE)
    entry.resize(2 * entry.size());
  if (found != nullptr) return std::uint32_t{found->gr_gid};
  return refuse(variable, value, "a group of this machine: use its name or its id");
}

std::string text_of(unsigned workers) {
  return workers == automatic_workers ? "auto" : fmt::format("{}", workers);
}
std::string text_of(std::uint64_t count) { return fmt::format("{}", count); }
std::string text_of(std::chrono::milliseconds value) {
  return fmt::format("{}", static_cast<double>(value.count()) / 1000);
}
std::string text_of_milliseconds(std::chrono::milliseconds value) {
  return fmt::format("{}", value.count());
}
std::string text_of(const std::vector<std::filesystem::path>& paths) {
  std::string text;
  for (const auto& path : paths) text += (text.empty() ? "" : ":") + path.string();
  return text;
}
std::string text_of(bool value) { return value ? "1" : "0"; }
std::string text_of(const std::filesystem::path& value) { return value.string(); }
std::string text_of(Mode value) { return to_string(value); }
std::string text_of(LogLevel value) {
  for (const auto& [name, level] : log_levels) {
    if (level == value) return std::string(name);
  }
  return {};
}

std::string text_of_size(std::uint64_t bytes) {
  if (bytes == automatic_memory) return "auto";
  constexpr std::string_view units = "KMGT";
  std::size_t steps = 0;
  for (; steps < units.size() && bytes != 0 && bytes % 1024 == 0; ++steps) bytes /= 1024;
  return fmt::format("{}{}", bytes, steps == 0 ? "" : units.substr(steps - 1, 1));
}

}  // namespace kiln::settings
