#include "rule_u.h"

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

namespace kiln::test {
namespace {

constexpr int unused_number = 1'000'000;

Digest key_of(const Sample& sample) { return as_found(sample).key; }

}  // namespace

void RuleU::offered(const Sample& sample) { entries_[key_of(sample)].offered.push_back(sample); }

void RuleU::stored(const Sample& sample) {
  Versions& versions = entries_.at(key_of(sample));
  versions.stored = versions.offered.size() - 1;
}

bool RuleU::acknowledged(const Sample& sample) const {
  const Versions* versions = versions_of(sample);
  return versions != nullptr && versions->stored.has_value();
}

const RuleU::Versions* RuleU::versions_of(const Sample& sample) const {
  const auto found = entries_.find(key_of(sample));
  return found == entries_.end() ? nullptr : &found->second;
}

void RuleU::expect_right(const Sample& sample, const std::optional<Artifact>& served) const {
  if (!served) return;
  const Versions* versions = versions_of(sample);
  ASSERT_TRUE(versions) << "served what was never put";
  EXPECT_TRUE(std::ranges::any_of(versions->offered, [&](const Sample& version) {
    return same_artifact(*served, as_found(version));
  })) << "served a wrong artifact";
}

void RuleU::expect_all_right(Cache& cache) const {
  for (const auto& [key, versions] : entries_) {
    const Sample& sample = versions.offered.back();
    expect_right(sample, find_checked(cache, sample));
  }
}

bool RuleU::all_kept(Cache& cache) const {
  return std::ranges::all_of(entries_, [&](const auto& entry) {
    const Versions& versions = entry.second;
    if (!versions.stored) return true;
    const auto served = find_checked(cache, versions.offered.back());
    const auto first = versions.offered.begin() + static_cast<std::ptrdiff_t>(*versions.stored);
    return served && std::any_of(first, versions.offered.end(), [&](const Sample& version) {
             return same_artifact(*served, as_found(version));
           });
  });
}

void RuleU::expect_works(Cache& cache) {
  const Sample sample = make_sample(unused_number);
  const auto outcome = put(cache, sample);
  ASSERT_TRUE(outcome) << outcome.error().message;
  const auto served = find_checked(cache, sample);
  ASSERT_TRUE(served) << "what was just put is not there";
  EXPECT_TRUE(same_artifact(*served, as_found(sample)));
}

void RuleU::expect_works_anew(const std::filesystem::path& folder) const {
  auto cache = open_to_write(folder);
  ASSERT_TRUE(cache) << cache.error().message;
  expect_all_right(*cache);
  expect_works(*cache);
}

Sample new_version(Sample sample, unsigned seed) {
  sample.artifact.image = random_bytes(sample.artifact.image.size(), seed);
  return sample;
}

}  // namespace kiln::test
