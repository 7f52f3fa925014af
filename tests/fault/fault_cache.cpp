#include "fault_cache.h"

#include <algorithm>
#include <cstddef>

#include <gtest/gtest.h>

namespace kiln::test {
namespace {

/// That the cache lists those of the sample, or none.
void expect_kernels_of(Cache& cache, const Sample& sample) {
  const auto all = cache.kernels();
  if (!all) return;
  const auto found = std::ranges::find(*all, as_found(sample).key, &EntryKernels::key);
  if (found == all->end()) return;
  ASSERT_EQ(found->kernels.size(), sample.code.size());
  for (std::size_t at = 0; at < sample.code.size(); ++at) {
    EXPECT_EQ(found->kernels[at].info, sample.artifact.kernels[at]);
    EXPECT_EQ(found->kernels[at].code, sample.code[at]);
  }
}

}  // namespace

Result<Cache> open_to_write(const std::filesystem::path& folder) { return Cache::open(folder); }

Result<Cache> open_to_read(const std::filesystem::path& folder) {
  return Cache::open(folder, {.access = Cache::Access::read_only});
}

Outcome put(Cache& cache, const Sample& sample) { return cache.put(sample.entry()); }

std::optional<Artifact> find_checked(Cache& cache, const Sample& sample) {
  const Digest key = as_found(sample).key;
  return cache.find(sample.request, sample.witness.roots, [&](const Candidate& candidate) {
    EXPECT_EQ(candidate.key, key);
    EXPECT_EQ(candidate.toolchain.identity, sample.toolchain.identity);
    EXPECT_EQ(candidate.dependencies, sample.dependencies);
    if (candidate.witness) {
      EXPECT_EQ(candidate.witness->stamps, sample.witness.stamps);
    }
    return true;
  });
}

void inspect_checked(Cache& cache, const Sample& sample) {
  const auto stored = cache.entry(as_found(sample).key);
  if (stored) {
    EXPECT_EQ(stored->request, sample.request);
    EXPECT_EQ(stored->dependencies, sample.dependencies);
    EXPECT_TRUE(same_artifact(stored->artifact, as_found(sample)));
  }
  const auto text = cache.text(sample.request.source);
  if (text) {
    EXPECT_EQ(*text, sample.source);
  }
  expect_kernels_of(cache, sample);
  static_cast<void>(cache.list());
  static_cast<void>(cache.statistics());
}

std::filesystem::path database_of(const std::filesystem::path& folder) {
  return folder / "kernels.v1.db";
}

Tally tally_of(const Cache& cache) {
  const CacheCounters counters = cache.counters();
  return {.hits = counters.hits(),
          .misses = counters.misses(),
          .stores = counters[Counter::stores],
          .faults =
              counters[Counter::damaged_rows] + counters.errors() + counters[Counter::generations]};
}

}  // namespace kiln::test
