#include "bench_cache.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace kiln::bench {
namespace {

template <class Result>
void exit_on_failure(const Result& result) {
  if (result) return;
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(1);
}

template <class Result>
auto value_or_exit(Result result) {
  exit_on_failure(result);
  return std::move(*result);
}

}  // namespace

Cache open_cache(const std::filesystem::path& directory) {
  return value_or_exit(Cache::open(directory));
}

void put(Cache& cache, const Sample& sample) {
  exit_on_failure(cache.put({.request = sample.request,
                             .dependencies = sample.dependencies,
                             .toolchain = toolchain(),
                             .artifact = sample.artifact,
                             .texts = sample.texts(),
                             .code = &sample.code}));
}

Artifact find(Cache& cache, const Request& request) {
  const auto accept = [](const Candidate& candidate) {
    return candidate.toolchain.identity == toolchain().identity;
  };
  // While a disk holds up a writer's commit for over a second, there are misses. What is asked again takes that time, too.
  constexpr int most_tries = 10;
  auto why_not = MissReason::none;
  for (int tries = 0; tries < most_tries; ++tries) {
    if (auto found = cache.find(request, Digest(), accept, &why_not)) return std::move(*found);
    if (why_not != MissReason::unreadable) break;
  }
  std::fprintf(stderr, "a miss where only hits are measured, of kind %d\n",
               static_cast<int>(why_not));
  std::exit(1);
}

std::uint64_t database_bytes(Cache& cache) { return value_or_exit(cache.statistics()).file_bytes; }

}  // namespace kiln::bench
