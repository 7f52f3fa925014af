#include "inspect.h"

#include "kiln/settings.h"

namespace kiln::cli {

Result<Cache> open_for_inspection(const Globals& globals) {
  const auto settings = resolve_settings({.cache_directory = globals.cache});
  if (!settings) return tl::unexpected(settings.error());
  if (!settings->cache_fault.empty()) return fail(ErrorCode::cache_unusable, settings->cache_fault);
  return Cache::open(settings->cache_directory, {.access = Cache::Access::read_only});
}

Result<StoredEntry> find_entry(Cache& cache, const std::string& key_prefix) {
  const auto key = cache.resolve(key_prefix);
  if (!key) return tl::unexpected(key.error());
  return cache.entry(*key);
}

}  // namespace kiln::cli
