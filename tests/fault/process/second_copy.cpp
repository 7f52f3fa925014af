// A second copy of the library in one process, with an SQLite of its own, as two plugins may bring.

#include <cstddef>
#include <optional>
#include <utility>

#include "kiln/cache.h"
#include "support.h"

namespace {
std::optional<kiln::Cache> cache;
}

// Plain C between the copies: nothing of C++ may be shared.
#define SECOND_COPY_EXPORT extern "C" __attribute__((visibility("default")))

SECOND_COPY_EXPORT int second_copy_open(const char* directory) {
  auto opened = kiln::Cache::open(directory);
  if (!opened) return 1;
  cache.emplace(std::move(*opened));
  return 0;
}

SECOND_COPY_EXPORT int second_copy_put(int number) {
  return cache->put(kiln::test::make_sample(number, 20'000).entry()) ? 0 : 1;
}

/// 0 a hit, 1 a miss, 2 another image.
SECOND_COPY_EXPORT int second_copy_look(int number) {
  const auto sample = kiln::test::make_sample(number, 20'000);
  const auto artifact = kiln::test::find(*cache, sample);
  if (!artifact) return 1;
  return kiln::test::same_artifact(*artifact, kiln::test::as_found(sample)) ? 0 : 2;
}

SECOND_COPY_EXPORT unsigned long long second_copy_count(int counter) {
  return cache->counters().values[static_cast<std::size_t>(counter)];
}

SECOND_COPY_EXPORT void second_copy_close() { cache.reset(); }
