#include "kiln/cache.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "support.h"

namespace kiln {
namespace {

using test::as_found;
using test::find;
using test::make_plain_sample;
using test::make_sample;
using test::same_artifact;
using test::Sample;

class CacheTest : public ::testing::Test {
 protected:
  Cache open(Cache::Access access = Cache::Access::read_write) {
    return Cache::open(folder_.path(), {access}).value();
  }

  test::TemporaryFolder folder_;
};

TEST_F(CacheTest, GivesBackWhatWasPut) {
  Cache cache = open();
  for (const Sample& sample :
       {make_sample(1), make_plain_sample(2), make_sample(3, 0), make_sample(4, 300'000)}) {
    EXPECT_FALSE(find(cache, sample));
    ASSERT_TRUE(cache.put(sample.entry()));
    const auto artifact = find(cache, sample);
    ASSERT_TRUE(artifact);
    EXPECT_TRUE(same_artifact(*artifact, as_found(sample)));
    EXPECT_EQ(artifact->origin, Origin::local);
  }
  const CacheCounters counters = cache.counters();
  EXPECT_EQ(counters.hits(), 4u);
  EXPECT_EQ(counters.misses(), 4u);
  EXPECT_EQ(counters[Counter::stores], 4u);
  EXPECT_EQ(counters[Counter::damaged_rows], 0u);
  EXPECT_EQ(counters.errors(), 0u);
}

TEST_F(CacheTest, KeepsItOverAReopen) {
  const Sample sample = make_sample(1);
  ASSERT_TRUE(open().put(sample.entry()));
  for (const auto access : {Cache::Access::read_write, Cache::Access::read_only}) {
    Cache cache = open(access);
    const auto artifact = find(cache, sample);
    ASSERT_TRUE(artifact);
    EXPECT_TRUE(same_artifact(*artifact, as_found(sample)));
  }
}

TEST_F(CacheTest, KeepsImagesAsTheyAreWhereAskedTo) {
  Sample sample = make_sample(1);
  sample.artifact.image = std::string(1 << 20, 'i');
  const auto stored_bytes = [&](bool plain) {
    Cache cache = Cache::open(folder_.path(), {.plain_images = plain}).value();
    EXPECT_TRUE(cache.put(sample.entry()));
    EXPECT_TRUE(same_artifact(find(cache, sample).value(), as_found(sample)));
    EXPECT_TRUE(same_artifact(cache.artifact(find(cache, sample)->key).value(), as_found(sample)));
    EXPECT_EQ(cache.verify(true).value().findings.size(), 0U);
    return cache.list().value().at(0).stored_bytes;
  };
  EXPECT_LT(stored_bytes(false), 10'000U);
  EXPECT_GE(stored_bytes(true), sample.artifact.image.size());
  EXPECT_LT(stored_bytes(true), sample.artifact.image.size() + 10'000);
  // Who asks for neither reads both.
  Cache other = open(Cache::Access::read_only);
  EXPECT_TRUE(same_artifact(find(other, sample).value(), as_found(sample)));
}

TEST_F(CacheTest, KeepsBytesOfEveryKind) {
  Sample sample = make_sample(1);
  sample.request.program = std::string("a\0b \"ü\n", 8);
  sample.artifact.program = sample.request.program;
  sample.artifact.log = std::string("\0\xff", 2);
  Cache cache = open();
  ASSERT_TRUE(cache.put(sample.entry()));
  EXPECT_TRUE(same_artifact(find(cache, sample).value(), as_found(sample)));
  EXPECT_EQ(cache.list().value().at(0).program, sample.request.program);
}

TEST_F(CacheTest, AHitChangesNothing) {
  const Sample sample = make_sample(1);
  ASSERT_TRUE(open().put(sample.entry()));
  std::filesystem::remove(folder_.path() / "kernels.v1.lock");
  const auto before = test::snapshot(folder_.path());
  {
    Cache cache = open();
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(find(cache, sample));
    EXPECT_EQ(test::snapshot(folder_.path()), before);
  }
  EXPECT_EQ(test::snapshot(folder_.path()), before);
}

TEST_F(CacheTest, AnotherRequestIsAMiss) {
  Cache cache = open();
  const Sample sample = make_sample(1);
  ASSERT_TRUE(cache.put(sample.entry()));
  Sample other = make_sample(1);
  other.request.arch = "sm_90";
  EXPECT_FALSE(find(cache, other));
}

TEST_F(CacheTest, ShowsEachCandidateAsItWasStored) {
  Cache cache = open();
  const Sample sample = make_sample(1);
  ASSERT_TRUE(cache.put(sample.entry()));
  int shown = 0;
  const auto refuse = [&](const Candidate& candidate) {
    ++shown;
    EXPECT_EQ(candidate.key, as_found(sample).key);
    EXPECT_EQ(candidate.toolchain.identity, sample.toolchain.identity);
    EXPECT_EQ(candidate.toolchain.text, sample.toolchain.text);
    EXPECT_EQ(candidate.dependencies, sample.dependencies);
    EXPECT_NE(candidate.witness, nullptr);
    if (candidate.witness) {
      EXPECT_EQ(candidate.witness->roots, sample.witness.roots);
      EXPECT_EQ(candidate.witness->stamps, sample.witness.stamps);
    }
    return false;
  };
  EXPECT_FALSE(cache.find(sample.request, sample.witness.roots, refuse));
  EXPECT_EQ(shown, 1);
}

TEST_F(CacheTest, AWitnessIsForItsOwnDirectoriesOnly) {
  Cache cache = open();
  const Sample sample = make_sample(1);
  ASSERT_TRUE(cache.put(sample.entry()));
  const auto artifact = cache.find(sample.request, digest_of("/elsewhere"), [](const auto& c) {
    EXPECT_EQ(c.witness, nullptr);
    return true;
  });
  EXPECT_TRUE(artifact);
}

TEST_F(CacheTest, PicksTheCandidateThatIsAccepted) {
  Cache cache = open();
  Sample older = make_sample(1);
  Sample newer = make_sample(1);
  newer.headers[0] += "// changed\n";
  newer.dependencies.lookups[0].content = digest_of(newer.headers[0]);
  newer.artifact.image = "another image";
  Sample other_compiler = make_sample(1);
  other_compiler.toolchain = {digest_of("another compiler"), "NVRTC 12.9"};
  other_compiler.artifact.image = "a third image";
  other_compiler.artifact.toolchain = "NVRTC 12.9";
  for (const Sample* sample : {&older, &newer, &other_compiler}) {
    ASSERT_TRUE(cache.put(sample->entry()));
  }
  EXPECT_EQ(cache.statistics().value().entries, 3u);
  for (const Sample* sample : {&older, &newer, &other_compiler}) {
    EXPECT_TRUE(same_artifact(find(cache, *sample).value(), as_found(*sample)));
  }
}

TEST_F(CacheTest, PuttingAKeyAgainReplacesIt) {
  Cache cache = open();
  Sample sample = make_sample(1);
  ASSERT_TRUE(cache.put(sample.entry()));
  sample.artifact.image = "the same key, another image";
  sample.witness.stamps[0].inode = 99;
  ASSERT_TRUE(cache.put(sample.entry()));
  EXPECT_EQ(cache.statistics().value().entries, 1u);
  const auto artifact =
      cache.find(sample.request, sample.witness.roots, [&](const Candidate& candidate) {
        return candidate.witness && candidate.witness->stamps == sample.witness.stamps;
      });
  ASSERT_TRUE(artifact);
  EXPECT_EQ(artifact->image, sample.artifact.image);
}

TEST_F(CacheTest, StoresTextsAndDependencySetsOnce) {
  Cache cache = open();
  const Sample first = make_sample(1);
  const Sample second = make_sample(2);
  ASSERT_TRUE(cache.put(first.entry()));
  const CacheStatistics before = cache.statistics().value();
  EXPECT_EQ(before.texts, 3u);
  EXPECT_EQ(before.dependency_sets, 1u);
  ASSERT_TRUE(cache.put(second.entry()));
  const CacheStatistics after = cache.statistics().value();
  EXPECT_EQ(after.entries, 2u);
  EXPECT_EQ(after.texts, 3u);
  EXPECT_EQ(after.stored_text_bytes, before.stored_text_bytes);
  EXPECT_EQ(after.dependency_sets, 1u);
}

TEST_F(CacheTest, GivesTextsBack) {
  Cache cache = open();
  const Sample sample = make_sample(1);
  ASSERT_TRUE(cache.put(sample.entry()));
  EXPECT_EQ(cache.text(sample.request.source).value(), sample.source);
  EXPECT_EQ(cache.text(digest_of(sample.headers[1])).value(), sample.headers[1]);
  const auto missing = cache.text(digest_of("never stored"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
}

TEST_F(CacheTest, RefusesATextOfAnotherDigest) {
  Cache cache = open();
  const Sample sample = make_sample(1);
  NewEntry entry = sample.entry();
  entry.texts[0].bytes = "changed meanwhile";
  const auto put = cache.put(entry);
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(cache.statistics().value().entries, 0u);
}

TEST_F(CacheTest, ListsInKeyOrder) {
  Cache cache = open();
  for (int number = 0; number < 5; ++number) {
    ASSERT_TRUE(cache.put(make_sample(number).entry()));
  }
  const auto entries = cache.list().value();
  ASSERT_EQ(entries.size(), 5u);
  EXPECT_TRUE(std::is_sorted(entries.begin(), entries.end(),
                             [](const auto& a, const auto& b) { return a.key < b.key; }));
  const EntrySummary& summary = entries[0];
  EXPECT_EQ(summary.program, "scale.cu");
  EXPECT_EQ(summary.arch, "sm_90a");
  EXPECT_EQ(summary.kind, "cubin");
  EXPECT_EQ(summary.toolchain, "NVRTC 13.0");
  EXPECT_EQ(summary.image_bytes, 600u);
  EXPECT_GT(summary.stored_bytes, 600u);
  EXPECT_EQ(summary.kernels, 2u);
  EXPECT_EQ(summary.compile_us, 27'000u);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  EXPECT_NEAR(static_cast<double>(summary.created),
              static_cast<double>(std::chrono::duration_cast<std::chrono::seconds>(now).count()),
              100);
}

TEST_F(CacheTest, GivesAWholeEntry) {
  Cache cache = open();
  const Sample sample = make_sample(1);
  ASSERT_TRUE(cache.put(sample.entry()));
  const StoredEntry stored = cache.entry(as_found(sample).key).value();
  EXPECT_EQ(stored.summary.key, as_found(sample).key);
  EXPECT_EQ(stored.summary.image_bytes, 600u);
  EXPECT_EQ(stored.request, sample.request);
  EXPECT_EQ(stored.dependencies, sample.dependencies);
  EXPECT_EQ(stored.toolchain.identity, sample.toolchain.identity);
  EXPECT_EQ(stored.toolchain.text, sample.toolchain.text);
  EXPECT_TRUE(same_artifact(stored.artifact, as_found(sample)));

  const auto missing = cache.entry(digest_of("no key"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
}

TEST_F(CacheTest, GivesAnArtifactByItsKey) {
  Cache cache = open();
  for (const Sample& sample : {make_sample(1), make_plain_sample(2)}) {
    ASSERT_TRUE(cache.put(sample.entry()));
    const Artifact artifact = cache.artifact(as_found(sample).key).value();
    EXPECT_TRUE(same_artifact(artifact, as_found(sample)));
    EXPECT_EQ(artifact.origin, Origin::local);
  }
  EXPECT_EQ(cache.counters().hits(), 0u) << "nobody uses what somebody lists";
  EXPECT_EQ(cache.artifact(digest_of("no key")).error().code, ErrorCode::not_found);
}

TEST_F(CacheTest, ResolvesAUniquePrefix) {
  Cache cache = open();
  for (int number = 0; number < 40; ++number) {
    ASSERT_TRUE(cache.put(make_plain_sample(number).entry()));
  }
  const auto all = cache.list().value();
  for (const EntrySummary& summary : all) {
    const std::string hex = summary.key.hex();
    const auto whole = cache.resolve(hex);
    ASSERT_TRUE(whole) << whole.error().message;
    EXPECT_EQ(*whole, summary.key);
    EXPECT_EQ(cache.resolve(hex.substr(0, 13)).value(), summary.key);
    EXPECT_EQ(cache.resolve(hex.substr(0, 14)).value(), summary.key);
  }
}

TEST_F(CacheTest, APrefixOfNoneOrOfSeveralIsAnError) {
  Cache cache = open();
  const auto none = cache.resolve("0");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::not_found);
  EXPECT_NE(none.error().message.find("'0'"), std::string::npos);

  // Seventeen keys have at least two that begin alike.
  for (int number = 0; number < 17; ++number) {
    ASSERT_TRUE(cache.put(make_plain_sample(number).entry()));
  }
  const auto all = cache.list().value();
  std::set<char> seen;
  std::string shared;
  for (const EntrySummary& summary : all) {
    const char first = summary.key.hex()[0];
    if (!seen.insert(first).second) shared = first;
  }
  ASSERT_FALSE(shared.empty());
  const auto several = cache.resolve(shared);
  ASSERT_FALSE(several);
  EXPECT_EQ(several.error().code, ErrorCode::ambiguous);
  for (const EntrySummary& summary : all) {
    if (summary.key.hex()[0] != shared[0]) continue;
    EXPECT_NE(several.error().message.find(summary.key.hex()), std::string::npos);
    break;
  }
}

TEST_F(CacheTest, NonsenseIsNoPrefix) {
  Cache cache = open();
  for (const char* nonsense : {"", "xyz", "0g", "-1", "00000000000000000000000000000000f"}) {
    const auto resolved = cache.resolve(nonsense);
    ASSERT_FALSE(resolved) << nonsense;
    EXPECT_EQ(resolved.error().code, ErrorCode::invalid_argument) << nonsense;
  }
}

TEST_F(CacheTest, Counts) {
  Cache cache = open();
  EXPECT_EQ(cache.statistics().value().entries, 0u);
  ASSERT_TRUE(cache.put(make_sample(1).entry()));
  ASSERT_TRUE(cache.put(make_plain_sample(2).entry()));
  const CacheStatistics sum = cache.statistics().value();
  const Sample sample = make_sample(1);
  EXPECT_EQ(sum.entries, 2u);
  EXPECT_EQ(sum.image_bytes, 1200u);
  EXPECT_GT(sum.stored_bytes, 1200u);
  EXPECT_EQ(sum.texts, 3u);
  EXPECT_EQ(sum.text_bytes,
            sample.source.size() + sample.headers[0].size() + sample.headers[1].size());
  EXPECT_EQ(sum.dependency_sets, 1u);
  EXPECT_EQ(sum.compile_us, 54'000u);
  EXPECT_EQ(sum.file_bytes, std::filesystem::file_size(cache.file()));
}

TEST_F(CacheTest, ReadOnlyChangesNothing) {
  const Sample sample = make_sample(1);
  ASSERT_TRUE(open().put(sample.entry()));
  const auto before = test::snapshot(folder_.path());
  Cache cache = open(Cache::Access::read_only);
  EXPECT_TRUE(find(cache, sample));
  const auto put = cache.put(make_sample(2).entry());
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, ErrorCode::cache_unusable);
  EXPECT_NE(put.error().message.find("read-only"), std::string::npos);
  EXPECT_EQ(test::snapshot(folder_.path()), before);
}

TEST_F(CacheTest, CanBeMoved) {
  Cache first = open();
  const Sample sample = make_sample(1);
  ASSERT_TRUE(first.put(sample.entry()));
  Cache second = std::move(first);
  EXPECT_TRUE(find(second, sample));
  EXPECT_EQ(second.file(), folder_.path() / "kernels.v1.db");
}

}  // namespace
}  // namespace kiln
