// What each variable means and what is nonsense in it. One list of settings, and so one file, though long.

#include "kiln/settings.h"

#include <grp.h>
#include <sys/auxv.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <sstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "config_file.h"
#include "image/toolchains.h"
#include "kiln/cache.h"
#include "kiln/size.h"
#include "remote/remote_address.h"
#include "system/environment.h"
#include "system/nearest_name.h"

namespace kiln {

namespace {

constexpr std::array<std::pair<std::string_view, LogLevel>, 4> log_levels{
    {{"off", LogLevel::off},
     {"warn", LogLevel::warn},
     {"info", LogLevel::info},
     {"debug", LogLevel::debug}}};

constexpr std::array<std::pair<std::string_view, Mode>, 3> modes{
    {{"jit", Mode::jit}, {"warn", Mode::warn}, {"cache-only", Mode::cache_only}}};

/// What somebody says a setting is, and where.
struct Given {
  std::string value;
  std::string origin;
};

/// Where settings come from beside the options, and what was decided of each.
class Decisions {
 public:
  Decisions(std::vector<ConfigFile> files, std::vector<Setting>& listing)
      : files_(std::move(files)), listing_(listing) {}

  /// The environment goes before the files, and these in their order. What is empty is not said.
  [[nodiscard]] std::optional<Given> given(const char* variable) const {
    const char* value = system::variable(variable);
    if (value != nullptr && *value != '\0') return Given{value, "environment"};
    for (const auto& file : files_) {
      const auto found = file.values.find(variable);
      if (found != file.values.end() && !found->second.empty())
        return Given{found->second, file.path.string()};
    }
    return std::nullopt;
  }

  /// Where this is said to be empty, if that is said before anything else.
  [[nodiscard]] std::optional<std::string> said_empty_in(const char* variable) const {
    if (const char* value = system::variable(variable))
      return *value == '\0' ? std::optional<std::string>("environment") : std::nullopt;
    for (const auto& file : files_) {
      const auto found = file.values.find(variable);
      if (found != file.values.end())
        return found->second.empty() ? std::optional(file.path.string()) : std::nullopt;
    }
    return std::nullopt;
  }

  /// What is said of the files that could not be read.
  [[nodiscard]] std::vector<std::string> unread() const {
    std::vector<std::string> unread;
    for (const auto& file : files_) {
      if (!file.unread.empty()) unread.push_back(file.unread);
    }
    return unread;
  }

  void add(Setting setting) { listing_.push_back(std::move(setting)); }

  /// What is named as a setting and is none. Call it when all are decided.
  [[nodiscard]] std::vector<UnknownVariable> unknown() const {
    std::vector<std::string> known;
    for (const auto& setting : listing_) known.push_back(setting.variable);
    std::vector<UnknownVariable> unknown;
    const auto look_at = [&](const std::string& name, const std::string& file) {
      if (std::ranges::find(known, name) != known.end()) return;
      unknown.push_back({name, system::nearest_name(name, known).value_or(""), file});
    };
    for (const auto& name : system::variables_beginning_with("KILN_")) look_at(name, "");
    for (const auto& file : files_) {
      for (const auto& [name, value] : file.values) look_at(name, file.path.string());
    }
    return unknown;
  }

 private:
  std::vector<ConfigFile> files_;
  std::vector<Setting>& listing_;
};

// An address that was meant for another variable may have a password in it.
tl::unexpected<Error> nonsense(std::string_view variable, std::string_view value,
                               std::string_view expected) {
  const bool is_address = value.find("://") != std::string_view::npos;
  return fail(ErrorCode::invalid_setting,
              fmt::format("{}: '{}' is not {}", variable, is_address ? "..." : value, expected));
}

Result<std::string> as_it_is(const char* /*variable*/, const std::string& value) { return value; }

Result<bool> parse_flag(const char* variable, const std::string& value) {
  for (const auto* yes : {"1", "true", "yes", "on"}) {
    if (value == yes) return true;
  }
  for (const auto* no : {"0", "false", "no", "off"}) {
    if (value == no) return false;
  }
  return nonsense(variable, value, "a switch: use 1 or 0 (or true/false, yes/no, on/off)");
}

Result<std::filesystem::path> parse_path(const char* variable, const std::filesystem::path& value) {
  // A relative path would make the result depend on where the process happens to stand.
  if (!value.is_absolute()) return nonsense(variable, value.string(), "an absolute path");
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
  return nonsense(variable, value, "a log level: use off, warn, info or debug");
}

Result<std::string> parse_engine(const char* variable, const std::string& value) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (std::any_of(value.begin(), value.end(), is_control))
    return nonsense(variable, value, "an engine's name: leave control characters out");
  return value;
}

Result<Mode> parse_mode(const char* variable, const std::string& value) {
  for (const auto& [name, mode] : modes) {
    if (value == name) return mode;
  }
  return nonsense(variable, value, "a mode: use jit, warn or cache-only");
}

Result<std::uint64_t> parse_size(const char* variable, const std::string& value) {
  const auto bytes = parse_bytes(value);
  if (!bytes || *bytes == 0) {
    return nonsense(variable, value,
                    "a size above nothing: use a number with K, M, G or T, such as 5G");
  }
  return *bytes;
}

Result<std::uint64_t> parse_memory(const char* variable, const std::string& value) {
  return value == "auto" ? Result<std::uint64_t>(automatic_memory) : parse_size(variable, value);
}

Result<std::uint64_t> parse_size_or_none(const char* variable, const std::string& value) {
  return value == "0" ? Result<std::uint64_t>(0) : parse_size(variable, value);
}

Result<std::chrono::milliseconds> parse_seconds(const char* variable, const std::string& value) {
  constexpr unsigned a_day = 86'400;
  unsigned seconds = 0;
  const char* end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, seconds);
  if (error != std::errc() || rest != end || seconds > a_day) {
    return nonsense(variable, value, "a number of seconds, at most a day");
  }
  return std::chrono::seconds(seconds);
}

Result<std::size_t> parse_count(const char* variable, const std::string& value) {
  std::size_t count = 0;
  const char* end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, count);
  if (error != std::errc() || rest != end || count == 0) {
    return nonsense(variable, value, "a number above nothing");
  }
  return count;
}

constexpr unsigned most_workers = 1024;
constexpr std::uint64_t least_compile_memory = std::uint64_t{512} << 20;

Result<unsigned> parse_workers(const char* variable, const std::string& value) {
  if (value == "auto") return automatic_workers;
  unsigned workers = 0;
  const char* end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, workers);
  if (error != std::errc() || rest != end || workers > most_workers) {
    return nonsense(variable, value,
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

std::string text_of(unsigned workers) {
  return workers == automatic_workers ? "auto" : fmt::format("{}", workers);
}
std::string text_of(std::uint64_t bytes) {
  return bytes == automatic_memory ? "auto" : fmt::format("{}", bytes);
}
std::string text_of(std::chrono::milliseconds value) {
  return fmt::format("{}", static_cast<double>(value.count()) / 1000);
}
std::string text_of(const std::vector<std::filesystem::path>& paths) {
  std::string text;
  for (const auto& path : paths) text += (text.empty() ? "" : ":") + path.string();
  return text;
}
std::string text_of(const std::string& value) { return value; }
std::string text_of(bool value) { return value ? "1" : "0"; }
std::string text_of(const std::filesystem::path& value) { return value.string(); }
std::string text_of(Mode value) { return to_string(value); }
std::string text_of(LogLevel value) {
  for (const auto& [name, level] : log_levels) {
    if (level == value) return std::string(name);
  }
  return {};
}

// Which file the nonsense stands in; the environment is where everybody looks first.
Error with_origin(Error error, const std::string& origin) {
  if (origin != "environment" && origin != "option")
    error.message += fmt::format(" (in {})", origin);
  return error;
}

// Option before environment before file before default; lists what it decided. An option goes through the same
// check as a variable, so that neither can be nonsense.
template <class T, class Parse>
Result<std::optional<T>> decide(const char* variable, const std::optional<T>& option, Parse parse,
                                const std::optional<T>& fallback, Decisions& decisions) {
  std::optional<T> value = fallback;
  std::string origin = "default";
  if (option) {
    value = option;
    origin = "option";
  } else if (auto given = decisions.given(variable)) {
    auto parsed = parse(variable, given->value);
    if (!parsed) return tl::unexpected(with_origin(std::move(parsed.error()), given->origin));
    value = *parsed;
    origin = std::move(given->origin);
  }
  decisions.add({variable, value ? text_of(*value) : "", origin});
  return value;
}

Result<std::optional<std::filesystem::path>> decide_path(
    const char* variable, const std::optional<std::filesystem::path>& option,
    const std::optional<std::filesystem::path>& fallback, Decisions& decisions) {
  if (option) {
    if (auto checked = parse_path(variable, *option); !checked)
      return tl::unexpected(checked.error());
  }
  return decide<std::filesystem::path>(variable, option, parse_path, fallback, decisions);
}

Result<std::optional<std::filesystem::path>> decide_record(const RuntimeOptions& options,
                                                           Decisions& decisions) {
  auto file = decide_path("KILN_RECORD", options.record, std::nullopt, decisions);
  if (file && *file && (*file)->extension() != ".json") {
    return nonsense("KILN_RECORD", (*file)->string(), "a file that ends in .json");
  }
  return file;
}

Result<std::optional<std::vector<std::filesystem::path>>> decide_bundles(
    const RuntimeOptions& options, Decisions& decisions) {
  using Paths = std::vector<std::filesystem::path>;
  for (const auto& bundle : options.bundles.value_or(Paths())) {
    if (auto checked = parse_path("KILN_BUNDLES", bundle); !checked)
      return tl::unexpected(checked.error());
  }
  return decide<Paths>("KILN_BUNDLES", options.bundles, parse_paths, Paths(), decisions);
}

Result<std::chrono::milliseconds> decide_timeout(const RuntimeOptions& options,
                                                 Decisions& decisions) {
  constexpr const char* variable = "KILN_COMPILE_TIMEOUT";
  const auto timeout = decide<std::chrono::milliseconds>(
      variable, options.compile_timeout, parse_seconds, std::chrono::minutes(10), decisions);
  if (!timeout) return tl::unexpected(timeout.error());
  // Nothing would ever be compiled.
  if (**timeout <= std::chrono::milliseconds::zero()) {
    return nonsense(variable, text_of(**timeout), "a number of seconds above nothing");
  }
  return **timeout;
}

Result<std::size_t> decide_queue(const RuntimeOptions& options, Decisions& decisions) {
  constexpr const char* variable = "KILN_COMPILE_QUEUE";
  constexpr std::size_t usual = 65'536;
  const auto bound =
      decide<std::size_t>(variable, options.compile_queue, parse_count, usual, decisions);
  if (!bound) return tl::unexpected(bound.error());
  if (**bound == 0) return nonsense(variable, "0", "a number above nothing");
  return **bound;
}

Result<std::string> parse_toolchains(const char* variable, const std::string& value) {
  if (EligibleToolchains::parse(value)) return value;
  return nonsense(variable, value,
                  "a rule for compilers: use own, same-major, any, or one as `kiln ls` names it, "
                  "such as 'NVRTC 12.8'");
}

// What is compiled for a device, and what it is given.
Outcome decide_images(const RuntimeOptions& options, Decisions& decisions, Settings& settings) {
  auto toolchains = decide<std::string>("KILN_TOOLCHAINS", options.toolchains, parse_toolchains,
                                        std::string("own"), decisions);
  if (!toolchains) return tl::unexpected(toolchains.error());
  if (auto sound = parse_toolchains("KILN_TOOLCHAINS", **toolchains); !sound)
    return tl::unexpected(sound.error());
  const auto allow_ptx =
      decide<bool>("KILN_ALLOW_PTX", options.allow_ptx, parse_flag, false, decisions);
  if (!allow_ptx) return tl::unexpected(allow_ptx.error());
  auto variant =
      decide<std::string>("KILN_VARIANT", options.variant, as_it_is, std::nullopt, decisions);
  if (!variant) return tl::unexpected(variant.error());
  settings.toolchains = std::move(**toolchains);
  settings.allow_ptx = **allow_ptx;
  settings.variant = variant->value_or("");
  return {};
}

// A number that is whole, and no more than an id can be; the last one means "no id".
std::optional<std::uint32_t> parse_id(std::string_view text) {
  std::uint32_t id = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, id);
  if (error != std::errc() || rest != end || id == static_cast<std::uint32_t>(-1))
    return std::nullopt;
  return id;
}

Result<CacheTrust> parse_owners(const char* variable, const std::string& value) {
  CacheTrust trust;
  std::istringstream list(value);
  for (std::string owner; std::getline(list, owner, ',');) {
    const auto id = owner == "root" ? 0 : parse_id(owner);
    trust.any_owner |= owner == "any";
    if (id) trust.owners.push_back(*id);
    if (!id && owner != "any") {
      return nonsense(variable, value,
                      "a list of owners: use root, user ids separated by commas, or any");
    }
  }
  return trust;
}

Result<std::uint32_t> parse_group(const char* variable, const std::string& value) {
  if (const auto id = parse_id(value)) return *id;
  struct group group {};
  struct group* found = nullptr;
  // The entry of a group, or of one before it, may be long.
  std::vector<char> entry(1024);
  while (::getgrnam_r(value.c_str(), &group, entry.data(), entry.size(), &found) == ERANGE)
    entry.resize(2 * entry.size());
  if (found != nullptr) return static_cast<std::uint32_t>(found->gr_gid);
  return nonsense(variable, value, "a group of this machine: use its name or its id");
}

// Leaves a text as it is that this reads.
template <auto parse>
Result<std::string> checked(const char* variable, const std::string& value) {
  if (auto parsed = parse(variable, value); !parsed) return tl::unexpected(parsed.error());
  return value;
}

// With whom a cache is shared, and from whom it is taken.
Outcome decide_trust(const RuntimeOptions& options, Decisions& decisions, CacheTrust& trust) {
  constexpr const char* owners_variable = "KILN_CACHE_TRUST_OWNERS";
  constexpr const char* group_variable = "KILN_CACHE_GROUP";
  const auto others = decide<bool>("KILN_CACHE_TRUST_OTHERS", options.cache_trust_others,
                                   parse_flag, false, decisions);
  if (!others) return tl::unexpected(others.error());
  const auto owners = decide<std::string>(owners_variable, options.cache_trust_owners,
                                          checked<parse_owners>, std::nullopt, decisions);
  if (!owners) return tl::unexpected(owners.error());
  const auto group = decide<std::string>(group_variable, options.cache_group, checked<parse_group>,
                                         std::nullopt, decisions);
  if (!group) return tl::unexpected(group.error());
  // An option was not read yet.
  auto parsed = parse_owners(owners_variable, owners->value_or(""));
  if (!parsed) return tl::unexpected(std::move(parsed.error()));
  trust = std::move(*parsed);
  trust.others = **others;
  if (!group->has_value() || (*group)->empty()) return {};
  const auto id = parse_group(group_variable, **group);
  if (!id) return tl::unexpected(id.error());
  trust.group = *id;
  return {};
}

// Whose word counts, and with whose key this process gives its own. Nothing is read where none is set.
Outcome decide_keys(const RuntimeOptions& options, Decisions& decisions, Settings& settings) {
  constexpr const char* trusted_variable = "KILN_TRUSTED_KEYS";
  constexpr const char* signing_variable = "KILN_SIGNING_KEY";
  const auto named = [](const char* variable, Error error) {
    error.message.insert(0, fmt::format("{}: ", variable));
    return tl::unexpected(std::move(error));
  };
  // Any other variable that is empty is not set. This one may have come out empty, and would open what it was to close.
  const auto emptied = decisions.said_empty_in(trusted_variable);
  if (!options.trusted_keys && emptied)
    return named(trusted_variable, with_origin(TrustedKeys::read("").error(), *emptied));
  const auto trusted = decide<std::string>(trusted_variable, options.trusted_keys, as_it_is,
                                           std::nullopt, decisions);
  if (!trusted) return tl::unexpected(trusted.error());
  const auto signing = decide<std::filesystem::path>(signing_variable, options.signing_key,
                                                     parse_key_file, std::nullopt, decisions);
  if (!signing) return tl::unexpected(signing.error());
  if (*trusted) {
    auto keys = TrustedKeys::read(**trusted);
    if (!keys) return named(trusted_variable, std::move(keys.error()));
    settings.trusted_keys = std::move(*keys);
  }
  if (*signing) {
    auto key = SigningKey::read(**signing);
    if (!key) return named(signing_variable, std::move(key.error()));
    settings.signing_key = std::move(*key);
  }
  return {};
}

// Without a word on stores, machines share the directory that was named for the cache, where it lies on a network: the cache
// itself lies on each of them.
std::optional<Given> usual_store(const Settings& settings) {
  if (settings.cache_disabled || settings.cache_directory.empty()) return std::nullopt;
  const auto place = place_of_cache(settings.cache_directory, settings.cache_trust);
  if (place.why_elsewhere.empty()) return std::nullopt;
  // A cache's directory is made as well, with those above it.
  return Given{url_of_folder(settings.cache_directory) + "?parents", "default"};
}

// What is listed tells no password.
Outcome decide_remotes(const RuntimeOptions& options, Decisions& decisions, Settings& settings) {
  constexpr const char* variable = "KILN_REMOTE";
  auto given = options.remotes ? std::optional(Given{*options.remotes, "option"})
                               : decisions.given(variable);
  if (!given && !decisions.said_empty_in(variable)) given = usual_store(settings);
  Setting listed{variable, "", given ? given->origin : "default"};
  if (given) {
    const auto addresses = parse_remotes(given->value);
    if (!addresses) {
      auto error = addresses.error();
      error.code = ErrorCode::invalid_setting;
      error.message.insert(0, fmt::format("{}: ", variable));
      return tl::unexpected(with_origin(std::move(error), given->origin));
    }
    for (const auto& address : *addresses)
      listed.value += (listed.value.empty() ? "" : " ") + address.shown();
    settings.remotes = std::move(given->value);
  }
  decisions.add(std::move(listed));
  auto helper = decide_path("KILN_REMOTE_HELPER", options.remote_helper, std::nullopt, decisions);
  if (!helper) return tl::unexpected(helper.error());
  settings.remote_helper = std::move(*helper);
  return {};
}

Outcome decide_workers(const RuntimeOptions& options, Decisions& decisions, Settings& settings) {
  const auto workers = decide<unsigned>("KILN_COMPILE_WORKERS", options.compile_workers,
                                        parse_workers, automatic_workers, decisions);
  if (!workers) return tl::unexpected(workers.error());
  if (**workers > most_workers && **workers != automatic_workers) {
    return tl::unexpected(parse_workers("KILN_COMPILE_WORKERS", text_of(**workers)).error());
  }
  const auto memory = decide<std::uint64_t>("KILN_COMPILE_MEMORY", options.compile_memory,
                                            parse_memory, automatic_memory, decisions);
  if (!memory) return tl::unexpected(memory.error());
  if (**memory < least_compile_memory) {
    return nonsense("KILN_COMPILE_MEMORY", text_of(**memory),
                    "enough for the compiler: use 512M or more");
  }
  auto worker = decide_path("KILN_WORKER", options.worker, std::nullopt, decisions);
  if (!worker) return tl::unexpected(worker.error());
  settings.compile_workers = **workers;
  settings.compile_memory = **memory;
  settings.worker = std::move(*worker);
  return {};
}

// As the XDG specification has it; empty where neither variable says.
std::filesystem::path user_config_folder() {
  if (auto folder = system::absolute_path_in("XDG_CONFIG_HOME"); !folder.empty()) return folder;
  const auto home = system::absolute_path_in("HOME");
  return home.empty() ? home : home / ".config";
}

Result<std::vector<ConfigFile>> read_config_files() {
  std::vector<ConfigFile> files;
  for (const auto& path : config_files()) {
    auto file = read_config(path);
    if (!file) return tl::unexpected(std::move(file.error()));
    if (*file) files.push_back(std::move(**file));
  }
  return files;
}

}  // namespace

const char* to_string(Mode mode) noexcept {
  switch (mode) {
    case Mode::jit:
      return "jit";
    case Mode::warn:
      return "warn";
    case Mode::cache_only:
      return "cache-only";
  }
  return "?";
}

std::vector<std::filesystem::path> config_files() {
  // Whoever started a program with other rights than his own does not decide what it does.
  if (::getauxval(AT_SECURE) != 0) return {};
  std::vector<std::filesystem::path> files;
  if (const auto folder = user_config_folder(); !folder.empty())
    files.push_back(folder / "kiln" / "config");
  files.emplace_back("/etc/kiln/config");
  return files;
}

Result<Settings> resolve_settings(const RuntimeOptions& options) {
  Settings settings;
  auto files = options.reads_config ? read_config_files() : Result<std::vector<ConfigFile>>();
  if (!files) return tl::unexpected(std::move(files.error()));
  Decisions decisions(std::move(*files), settings.listing);

  std::optional<std::filesystem::path> usual_directory;
  if (auto found = default_cache_directory()) {
    usual_directory = *found;
  } else {
    settings.cache_fault = found.error().message;
  }
  const auto directory =
      decide_path("KILN_CACHE_DIR", options.cache_directory, usual_directory, decisions);
  if (!directory) return tl::unexpected(directory.error());
  const auto disabled =
      decide<bool>("KILN_CACHE_DISABLE", options.cache_disabled, parse_flag, false, decisions);
  if (!disabled) return tl::unexpected(disabled.error());
  const auto read_only =
      decide<bool>("KILN_CACHE_READONLY", options.cache_read_only, parse_flag, false, decisions);
  if (!read_only) return tl::unexpected(read_only.error());
  const auto max_bytes = decide<std::uint64_t>("KILN_CACHE_MAX_SIZE", options.cache_max_bytes,
                                               parse_size, CacheOptions().max_bytes, decisions);
  if (!max_bytes) return tl::unexpected(max_bytes.error());
  const auto plain_images = decide<bool>("KILN_CACHE_PLAIN_IMAGES", options.cache_plain_images,
                                         parse_flag, false, decisions);
  if (!plain_images) return tl::unexpected(plain_images.error());
  if (auto decided = decide_trust(options, decisions, settings.cache_trust); !decided) {
    return tl::unexpected(std::move(decided.error()));
  }
  if (*directory) {
    settings.cache_directory = **directory;
    settings.cache_fault.clear();
  }
  settings.cache_disabled = **disabled;
  if (auto decided = decide_keys(options, decisions, settings); !decided)
    return tl::unexpected(std::move(decided.error()));
  auto engine =
      decide<std::string>("KILN_ENGINE", options.engine, parse_engine, std::nullopt, decisions);
  if (!engine) return tl::unexpected(engine.error());
  auto bundles = decide_bundles(options, decisions);
  if (!bundles) return tl::unexpected(bundles.error());
  if (auto decided = decide_remotes(options, decisions, settings); !decided)
    return tl::unexpected(std::move(decided.error()));
  const auto patience =
      decide<std::chrono::milliseconds>("KILN_COMPILE_PATIENCE", options.compile_patience,
                                        parse_seconds, std::chrono::seconds(60), decisions);
  if (!patience) return tl::unexpected(patience.error());
  const auto precompiled =
      decide<std::uint64_t>("KILN_PCH_MAX_SIZE", options.precompiled_max_bytes, parse_size_or_none,
                            std::uint64_t{2} << 30, decisions);
  if (!precompiled) return tl::unexpected(precompiled.error());
  const auto large_pages = decide<bool>("KILN_PCH_LARGE_PAGES", options.precompiled_large_pages,
                                        parse_flag, true, decisions);
  if (!large_pages) return tl::unexpected(large_pages.error());
  const auto timeout = decide_timeout(options, decisions);
  if (!timeout) return tl::unexpected(timeout.error());
  const auto queue = decide_queue(options, decisions);
  if (!queue) return tl::unexpected(queue.error());
  if (auto decided = decide_workers(options, decisions, settings); !decided) {
    return tl::unexpected(std::move(decided.error()));
  }
  const auto mode = decide<Mode>("KILN_MODE", options.mode, parse_mode, Mode::jit, decisions);
  if (!mode) return tl::unexpected(mode.error());
  auto nvrtc = decide_path("KILN_NVRTC", options.nvrtc, std::nullopt, decisions);
  if (!nvrtc) return tl::unexpected(nvrtc.error());
  auto nvjitlink = decide_path("KILN_NVJITLINK", options.nvjitlink, std::nullopt, decisions);
  if (!nvjitlink) return tl::unexpected(nvjitlink.error());
  auto nvfatbin = decide_path("KILN_NVFATBIN", options.nvfatbin, std::nullopt, decisions);
  if (!nvfatbin) return tl::unexpected(nvfatbin.error());
  auto nvdisasm = decide_path("KILN_NVDISASM", options.nvdisasm, std::nullopt, decisions);
  if (!nvdisasm) return tl::unexpected(nvdisasm.error());
  auto driver = decide_path("KILN_CUDA_DRIVER", options.cuda_driver, std::nullopt, decisions);
  if (!driver) return tl::unexpected(driver.error());
  if (auto decided = decide_images(options, decisions, settings); !decided) {
    return tl::unexpected(std::move(decided.error()));
  }
  auto record = decide_record(options, decisions);
  if (!record) return tl::unexpected(record.error());
  auto sources =
      decide_path("KILN_SOURCES_DIR", options.sources_directory, std::nullopt, decisions);
  if (!sources) return tl::unexpected(sources.error());
  const auto check_sources =
      decide<bool>("KILN_CHECK_SOURCES", options.check_sources, parse_flag, false, decisions);
  if (!check_sources) return tl::unexpected(check_sources.error());
  const auto level =
      decide<LogLevel>("KILN_LOG", options.log_level, parse_log_level, LogLevel::warn, decisions);
  if (!level) return tl::unexpected(level.error());

  settings.cache_read_only = **read_only;
  settings.cache_max_bytes = **max_bytes;
  settings.cache_plain_images = **plain_images;
  settings.engine = engine->value_or("");
  settings.bundles = std::move(**bundles);
  settings.tells_hits = options.tells_hits;
  settings.embedded_bundles = options.embedded_bundles;
  settings.compile_patience = **patience;
  settings.precompiled_max_bytes = **precompiled;
  settings.precompiled_large_pages = **large_pages;
  settings.compile_timeout = *timeout;
  settings.compile_queue = *queue;
  settings.mode = **mode;
  settings.nvrtc = std::move(*nvrtc);
  settings.nvjitlink = std::move(*nvjitlink);
  settings.nvfatbin = std::move(*nvfatbin);
  settings.nvdisasm = std::move(*nvdisasm);
  settings.cuda_driver = std::move(*driver);
  settings.record = std::move(*record);
  settings.sources_directory = std::move(*sources);
  settings.check_sources = **check_sources;
  settings.log_level = **level;
  settings.unknown = decisions.unknown();
  settings.unread_files = decisions.unread();
  return settings;
}

}  // namespace kiln
