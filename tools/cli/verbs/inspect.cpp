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
                       .trust = settings.cache_trust,
                       .trusted_keys = settings.trusted_keys,
                       .signing_key = settings.signing_key,
                       .plain_images = settings.cache_plain_images};
  // Who only looks is told by what the look comes to.
  if (!globals.quiet && access == Cache::Access::read_write) {
    options.on_fault = warn_unless_reported;
  }
  return options;
}

// Who names a file where a cache is asked for may have meant either.
Result<Cache> open_bundle_as_cache(const std::filesystem::path& file, const CacheOptions& options) {
  auto bundle = Cache::open_bundle(file, options);
  if (!bundle) bundle.error().message += "; where a cache was meant, name its directory";
  return bundle;
}

/// Of a folder, to be pasted between quotes.
std::string url_of(const std::filesystem::path& folder) {
  std::string url = "file://";
  for (const unsigned char each : folder.string()) {
    const bool is_plain = each > ' ' && std::string_view("%?#'").find(static_cast<char>(each)) ==
                                            std::string_view::npos;
    url += is_plain ? std::string(1, static_cast<char>(each)) : fmt::format("%{:02X}", each);
  }
  return url;
}

}  // namespace

RuntimeOptions asked_settings(const Globals& globals) {
  return {.cache_directory = globals.cache, .reads_config = true};
}

RuntimeOptions runtime_options(const Globals& globals) {
  auto options = asked_settings(globals);
  options.log = log_to_standard_error();
  options.tells_hits = true;
  if (globals.quiet) options.log_level = LogLevel::off;
  return options;
}

Settings settings_of(const Globals& globals) {
  auto settings = resolve_settings(asked_settings(globals)).value();
  warn_of_unread(globals, settings);
  if (!settings.cache_fault.empty()) refuse(ErrorCode::cache_unusable, settings.cache_fault);
  return settings;
}

std::string way_to_bundles(const Settings& settings) {
  if (settings.bundles.empty()) return {};
  return fmt::format("; what is in a bundle that serves here is shown by --cache '{}'",
                     settings.bundles.front().string());
}

Result<Cache> open_folder(const std::filesystem::path& folder, CacheOptions options,
                          std::string_view where_there_is_none) {
  std::error_code error;
  const auto place = std::filesystem::absolute(folder, error).lexically_normal();
  auto cache = Cache::open(place, std::move(options));
  if (cache) return cache;
  // Others may write into a store, so it is not even looked at as a cache.
  if (std::filesystem::is_directory(place / "kiln-store.v1", error)) {
    return fail(
        ErrorCode::not_found,
        fmt::format("no cache at '{0}': it is a store that machines share: kiln pull --from "
                    "'{1}' brings its entries into the cache, and kiln ls --store '{1}' "
                    "lists them",
                    place.string(), url_of(place)));
  }
  if (cache.error().code == ErrorCode::not_found) cache.error().message += where_there_is_none;
  return cache;
}

void warn_of_unread(const Globals& globals, const Settings& settings) {
  if (globals.quiet || settings.log_level == LogLevel::off) return;
  for (const auto& file : settings.unread_files) warn_once(file);
}

bool names_bundle(const Settings& settings) {
  std::error_code error;
  return std::filesystem::is_regular_file(settings.cache_directory, error);
}

void refuse_bundle(const Settings& settings) {
  if (!names_bundle(settings)) return;
  refuse(ErrorCode::cache_unusable,
         fmt::format("'{0}' is a file, and a bundle is never changed: name a cache's folder with "
                     "--cache, and kiln import '{0}' brings the bundle's entries into it",
                     settings.cache_directory.string()));
}

Result<Cache> open_for_inspection(const Globals& globals) {
  const auto settings = settings_of(globals);
  const auto options = options_of(globals, settings, Cache::Access::read_only);
  if (names_bundle(settings)) return open_bundle_as_cache(settings.cache_directory, options);
  return open_folder(settings.cache_directory, options,
                     fmt::format(": {} makes it, and --cache names another{}", ways_to_fill,
                                 way_to_bundles(settings)));
}

Cache open_for_change(const Globals& globals) {
  auto as_it_is = open_for_inspection(globals);
  const bool absent = !as_it_is && as_it_is.error().code == ErrorCode::not_found;
  return absent ? std::move(as_it_is).value() : open_to_fill(globals);
}

Cache open_to_fill(const Globals& globals) {
  const auto settings = settings_of(globals);
  refuse_bundle(settings);
  if (settings.cache_read_only) {
    refuse(ErrorCode::cache_unusable,
           fmt::format("cache '{}' is read-only here, as KILN_CACHE_READONLY says",
                       settings.cache_directory.string()));
  }
  return Cache::open(settings.cache_directory,
                     options_of(globals, settings, Cache::Access::read_write))
      .value();
}

Runtime open_runtime_to_look(const Globals& globals) {
  const auto settings = settings_of(globals);
  auto options = runtime_options(globals);
  options.cache_read_only = true;
  if (names_bundle(settings)) {
    options.cache_disabled = true;
    options.bundles = settings.bundles;
    options.bundles->insert(options.bundles->begin(), settings.cache_directory);
  } else {
    options.cache_directory = settings.cache_directory;
  }
  return Runtime::open(std::move(options)).value();
}

}  // namespace kiln::cli
