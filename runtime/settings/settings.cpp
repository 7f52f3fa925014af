#include "kiln/settings.h"

#include <sys/auxv.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kiln/cache.h"
#include "remote/remote_address.h"
#include "settings/config_file.h"
#include "settings/decisions.h"
#include "settings/setting_values.h"
#include "system/environment.h"

namespace kiln {
namespace settings {
namespace {

constexpr std::uint64_t least_compile_memory = std::uint64_t{512} << 20;
constexpr std::uint64_t usual_precompiled_bytes = std::uint64_t{2} << 30;
constexpr std::size_t usual_queue = 65'536;

using Path = std::filesystem::path;
using Paths = std::vector<Path>;

std::optional<Path> decide_path(const char* variable, const std::optional<Path>& option,
                                Decisions& decisions,
                                const std::optional<Path>& usual = std::nullopt) {
  auto path = decisions.decide(variable, option, parse_path, usual);
  if (path) decisions.check(variable, parse_path(variable, *path));
  return path;
}

// With whom a cache is shared, and from whom it is taken.
CacheTrust decide_trust(const RuntimeOptions& options, Decisions& decisions) {
  const bool others =
      decisions.decide_or("KILN_CACHE_TRUST_OTHERS", options.cache_trust_others, parse_flag, false);
  auto trust =
      decisions.decide_text("KILN_CACHE_TRUST_OWNERS", options.cache_trust_owners, parse_owners)
          .value_or(CacheTrust());
  trust.others = others;
  trust.group = decisions.decide_text("KILN_CACHE_GROUP", options.cache_group, parse_group)
                    .value_or(std::nullopt);
  return trust;
}

void decide_cache(const RuntimeOptions& options, Decisions& decisions, Settings& settings) {
  const auto usual = default_cache_directory();
  const auto directory = decide_path("KILN_CACHE_DIR", options.cache_directory, decisions,
                                     usual ? std::optional<Path>(*usual) : std::nullopt);
  settings.cache_directory = directory.value_or("");
  if (!directory) settings.cache_fault = usual.error().message;
  settings.cache_disabled =
      decisions.decide_or("KILN_CACHE_DISABLE", options.cache_disabled, parse_flag, false);
  settings.cache_read_only =
      decisions.decide_or("KILN_CACHE_READONLY", options.cache_read_only, parse_flag, false);
  settings.cache_max_bytes =
      decisions.decide_or("KILN_CACHE_MAX_SIZE", options.cache_max_bytes, parse_size,
                          CacheOptions().max_bytes, text_of_size);
  settings.cache_plain_images =
      decisions.decide_or("KILN_CACHE_PLAIN_IMAGES", options.cache_plain_images, parse_flag, false);
  settings.cache_trust = decide_trust(options, decisions);
}

// What was read for a variable. Its error does not name that.
template <class T>
T read_for(const char* variable, Result<T> read, Decisions& decisions) {
  if (read) return std::move(*read);
  read.error().message.insert(0, fmt::format("{}: ", variable));
  decisions.refuse(variable, std::move(read.error()));
  return T();
}

// Whose word counts, and with whose key this process gives its own. Nothing is read where none is set.
void decide_keys(const RuntimeOptions& options, Decisions& decisions, Settings& settings) {
  constexpr const char* trusted_variable = "KILN_TRUSTED_KEYS";
  constexpr const char* signing_variable = "KILN_SIGNING_KEY";
  auto trusted = decisions.decide_text(trusted_variable, options.trusted_keys, as_it_is);
  // Any other variable that is empty is not set. This one may have come out empty, and would open what it was to close.
  if (const auto emptied = decisions.said_empty_in(trusted_variable);
      emptied && !options.trusted_keys) {
    // Its error names where that is said.
    decisions.list({trusted_variable, "", *emptied});
    trusted = "";
  }
  const auto signing = decisions.decide(signing_variable, options.signing_key, parse_key_file);
  if (decisions.fault()) return;
  if (trusted)
    settings.trusted_keys = read_for(trusted_variable, TrustedKeys::read(*trusted), decisions);
  if (signing)
    settings.signing_key = read_for(signing_variable, SigningKey::read(*signing), decisions);
}

void decide_bundles(const RuntimeOptions& options, Decisions& decisions, Settings& settings) {
  constexpr const char* variable = "KILN_BUNDLES";
  settings.bundles = decisions.decide_or(variable, options.bundles, parse_paths, Paths());
  for (const auto& bundle : settings.bundles)
    decisions.check(variable, parse_path(variable, bundle));
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
void decide_remotes(const RuntimeOptions& options, Decisions& decisions, Settings& settings) {
  constexpr const char* variable = "KILN_REMOTE";
  auto given = options.remotes ? std::optional(Given{*options.remotes, "option"})
                               : decisions.given(variable);
  if (!given && !decisions.said_empty_in(variable) && !decisions.fault())
    given = usual_store(settings);
  const auto addresses = given ? parse_remotes(given->value) : Result<std::vector<RemoteAddress>>();
  std::string shown;
  if (addresses) {
    for (const auto& address : *addresses) shown += (shown.empty() ? "" : " ") + address.shown();
  }
  decisions.list({variable, shown, given ? given->origin : "default"});
  if (given) settings.remotes = std::move(given->value);
  if (!addresses) {
    auto error = addresses.error();
    error.code = ErrorCode::invalid_setting;
    error.message.insert(0, fmt::format("{}: ", variable));
    decisions.refuse(variable, std::move(error));
  }
  settings.remote_helper = decide_path("KILN_REMOTE_HELPER", options.remote_helper, decisions);
}

void decide_compiling(const RuntimeOptions& options, Decisions& decisions, Settings& settings) {
  settings.compile_patience = decisions.decide_or("KILN_COMPILE_PATIENCE", options.compile_patience,
                                                  parse_seconds, std::chrono::seconds(60));
  settings.precompiled_max_bytes =
      decisions.decide_or("KILN_PCH_MAX_SIZE", options.precompiled_max_bytes, parse_size_or_none,
                          usual_precompiled_bytes, text_of_size);
  settings.precompiled_after =
      decisions.decide_or("KILN_PCH_AFTER", options.precompiled_after, parse_milliseconds,
                          std::chrono::milliseconds(400), text_of_milliseconds);
  settings.precompiled_large_pages = decisions.decide_or(
      "KILN_PCH_LARGE_PAGES", options.precompiled_large_pages, parse_flag, true);

  constexpr const char* timeout = "KILN_COMPILE_TIMEOUT";
  settings.compile_timeout = decisions.decide_or(timeout, options.compile_timeout, parse_seconds,
                                                 std::chrono::minutes(10));
  // Nothing would ever be compiled.
  if (settings.compile_timeout <= std::chrono::milliseconds::zero()) {
    decisions.refuse(timeout, nonsense(timeout, text_of(settings.compile_timeout),
                                       "a number of seconds above nothing"));
  }
  constexpr const char* queue = "KILN_COMPILE_QUEUE";
  settings.compile_queue =
      decisions.decide_or(queue, options.compile_queue, parse_count, usual_queue);
  if (settings.compile_queue == 0)
    decisions.refuse(queue, nonsense(queue, "0", "a number above nothing"));
}

void decide_workers(const RuntimeOptions& options, Decisions& decisions, Settings& settings) {
  constexpr const char* workers = "KILN_COMPILE_WORKERS";
  settings.compile_workers =
      decisions.decide_or(workers, options.compile_workers, parse_workers, automatic_workers);
  decisions.check(workers, parse_workers(workers, text_of(settings.compile_workers)));
  constexpr const char* memory = "KILN_COMPILE_MEMORY";
  settings.compile_memory = decisions.decide_or(memory, options.compile_memory, parse_memory,
                                                automatic_memory, text_of_size);
  if (settings.compile_memory < least_compile_memory) {
    decisions.refuse(memory, nonsense(memory, text_of_size(settings.compile_memory),
                                      "enough for the compiler: use 512M or more"));
  }
  settings.worker = decide_path("KILN_WORKER", options.worker, decisions);
}

void decide_libraries(const RuntimeOptions& options, Decisions& decisions, Settings& settings) {
  settings.nvrtc = decide_path("KILN_NVRTC", options.nvrtc, decisions);
  settings.nvjitlink = decide_path("KILN_NVJITLINK", options.nvjitlink, decisions);
  settings.nvfatbin = decide_path("KILN_NVFATBIN", options.nvfatbin, decisions);
  settings.nvdisasm = decide_path("KILN_NVDISASM", options.nvdisasm, decisions);
  settings.cuda_driver = decide_path("KILN_CUDA_DRIVER", options.cuda_driver, decisions);
}

// What is compiled for a device, and what it is given.
void decide_images(const RuntimeOptions& options, Decisions& decisions, Settings& settings) {
  const std::string usual = "own";
  settings.toolchains =
      decisions.decide_text("KILN_TOOLCHAINS", options.toolchains, parse_toolchains, usual)
          .value_or(usual);
  settings.allow_ptx = decisions.decide_or("KILN_ALLOW_PTX", options.allow_ptx, parse_flag, false);
  settings.variant = decisions.decide_text("KILN_VARIANT", options.variant, as_it_is).value_or("");
}

// What is written down beside the cache.
void decide_records(const RuntimeOptions& options, Decisions& decisions, Settings& settings) {
  constexpr const char* record = "KILN_RECORD";
  settings.record = decide_path(record, options.record, decisions);
  if (settings.record && settings.record->extension() != ".json") {
    decisions.refuse(record,
                     nonsense(record, settings.record->string(), "a file that ends in .json"));
  }
  settings.sources_directory =
      decide_path("KILN_SOURCES_DIR", options.sources_directory, decisions);
  settings.check_sources =
      decisions.decide_or("KILN_CHECK_SOURCES", options.check_sources, parse_flag, false);
  settings.log_level =
      decisions.decide_or("KILN_LOG", options.log_level, parse_log_level, LogLevel::warn);
}

// In the order in which they are listed.
Settings decide_all(const RuntimeOptions& options, Decisions& decisions) {
  Settings settings;
  decide_cache(options, decisions, settings);
  decide_keys(options, decisions, settings);
  settings.engine = decisions.decide_text("KILN_ENGINE", options.engine, parse_engine).value_or("");
  decide_bundles(options, decisions, settings);
  decide_remotes(options, decisions, settings);
  decide_compiling(options, decisions, settings);
  decide_workers(options, decisions, settings);
  settings.mode = decisions.decide_or("KILN_MODE", options.mode, parse_mode, Mode::jit);
  decide_libraries(options, decisions, settings);
  decide_images(options, decisions, settings);
  decide_records(options, decisions, settings);
  settings.tells_hits = options.tells_hits;
  settings.embedded_bundles = options.embedded_bundles;
  return settings;
}

// As the XDG specification has it; empty where neither variable says.
Path user_config_folder() {
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
}  // namespace settings

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
  if (const auto folder = settings::user_config_folder(); !folder.empty())
    files.push_back(folder / "kiln" / "config");
  files.emplace_back("/etc/kiln/config");
  return files;
}

Result<Settings> resolve_settings(const RuntimeOptions& options) {
  auto files =
      options.reads_config ? settings::read_config_files() : Result<std::vector<ConfigFile>>();
  if (!files) return tl::unexpected(std::move(files.error()));
  settings::Decisions decisions(std::move(*files));
  auto decided = settings::decide_all(options, decisions);
  if (decisions.fault()) return tl::unexpected(*decisions.fault());
  decided.listing = decisions.listing();
  decided.unknown = decisions.unknown();
  decided.unread_files = decisions.unread();
  return decided;
}

}  // namespace kiln
