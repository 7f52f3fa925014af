#include "inspect.h"

#include "kiln/settings.h"

namespace kiln::cli {

namespace {

Result<Settings> cache_settings(const Globals& globals) {
  auto settings = resolve_settings({.cache_directory = globals.cache});
  if (!settings) return settings;
  if (!settings->cache_fault.empty()) return fail(ErrorCode::cache_unusable, settings->cache_fault);
  return settings;
}

}  // namespace

Result<Cache> open_for_inspection(const Globals& globals) {
  const auto settings = cache_settings(globals);
  if (!settings) return tl::unexpected(settings.error());
  return Cache::open(settings->cache_directory, {.access = Cache::Access::read_only});
}

Result<Cache> open_for_change(const Globals& globals) {
  const auto settings = cache_settings(globals);
  if (!settings) return tl::unexpected(settings.error());
  auto as_it_is = Cache::open(settings->cache_directory, {.access = Cache::Access::read_only});
  if (!as_it_is || settings->cache_read_only) return as_it_is;
  return Cache::open(settings->cache_directory);
}

Result<StoredEntry> find_entry(Cache& cache, const std::string& key_prefix) {
  const auto key = cache.resolve(key_prefix);
  if (!key) return tl::unexpected(key.error());
  return cache.entry(*key);
}

}  // namespace kiln::cli
