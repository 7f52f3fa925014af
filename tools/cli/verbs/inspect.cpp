#include "verbs/inspect.h"

#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "output.h"

namespace kiln::cli {

namespace {

CacheOptions options_of(const Globals& globals, const Settings& settings, Cache::Access access) {
  CacheOptions options{.access = access,
                       .max_bytes = settings.cache_max_bytes,
                       .trust_others = settings.cache_trust_others};
  // Who only looks is told by what the look comes to.
  if (!globals.quiet && access == Cache::Access::read_write) {
    options.on_fault = [say = log_to_standard_error()](std::string_view line) {
      say(LogLevel::warn, line);
    };
  }
  return options;
}

}  // namespace

Result<Settings> settings_of(const Globals& globals) {
  auto settings = resolve_settings({.cache_directory = globals.cache});
  if (!settings) return settings;
  if (!settings->cache_fault.empty()) return fail(ErrorCode::cache_unusable, settings->cache_fault);
  return settings;
}

Result<Cache> open_for_inspection(const Globals& globals) {
  const auto settings = settings_of(globals);
  if (!settings) return tl::unexpected(settings.error());
  const auto options = options_of(globals, *settings, Cache::Access::read_only);
  std::error_code error;
  return std::filesystem::is_regular_file(settings->cache_directory, error)
             ? Cache::open_bundle(settings->cache_directory, options)
             : Cache::open(settings->cache_directory, options);
}

Result<Cache> open_for_change(const Globals& globals) {
  auto as_it_is = open_for_inspection(globals);
  const bool absent = !as_it_is && as_it_is.error().code == ErrorCode::not_found;
  return absent ? std::move(as_it_is) : open_to_fill(globals);
}

Result<Cache> open_to_fill(const Globals& globals) {
  const auto settings = settings_of(globals);
  if (!settings) return tl::unexpected(settings.error());
  if (settings->cache_read_only) {
    return fail(ErrorCode::cache_unusable,
                fmt::format("cache '{}' is read-only here, as KILN_CACHE_READONLY says",
                            settings->cache_directory.string()));
  }
  return Cache::open(settings->cache_directory,
                     options_of(globals, *settings, Cache::Access::read_write));
}

Result<StoredEntry> find_entry(Cache& cache, const std::string& key_prefix) {
  const auto key = cache.resolve(key_prefix);
  if (!key) return tl::unexpected(key.error());
  return cache.entry(*key);
}

}  // namespace kiln::cli
