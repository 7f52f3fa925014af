#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "kiln/cache.h"
#include "support.h"

namespace kiln {
namespace {

using test::as_found;
using test::make_plain_sample;
using test::make_sample;
using test::same_artifact;
using test::Sample;

class CacheDamage : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Cache::open(folder_.path()).value().put(sample_.entry()));
    pristine_ = test::read_file(file_);
  }

  void flip(std::string& bytes, std::size_t bit) const {
    bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
  }

  /// Whatever happened to the file: nothing, or the right thing, and no false word on the way.
  void expect_right_or_nothing(Cache& cache) {
    const auto artifact =
        cache.find(sample_.request, sample_.witness.roots, [&](const Candidate& candidate) {
          EXPECT_EQ(candidate.key, as_found(sample_).key);
          EXPECT_EQ(candidate.toolchain.identity, sample_.toolchain.identity);
          EXPECT_EQ(candidate.dependencies, sample_.dependencies);
          if (candidate.witness) {
            EXPECT_EQ(candidate.witness->stamps, sample_.witness.stamps);
          }
          return true;
        });
    if (artifact) {
      EXPECT_TRUE(same_artifact(*artifact, as_found(sample_)));
    }
    const auto stored = cache.entry(as_found(sample_).key);
    if (stored) {
      EXPECT_EQ(stored->request, sample_.request);
      EXPECT_EQ(stored->dependencies, sample_.dependencies);
      EXPECT_TRUE(same_artifact(stored->artifact, as_found(sample_)));
    }
    const auto shown = cache.artifact(as_found(sample_).key);
    if (shown) {
      EXPECT_TRUE(same_artifact(*shown, as_found(sample_)));
    }
    const auto text = cache.text(sample_.request.source);
    if (text) {
      EXPECT_EQ(*text, sample_.source);
    }
  }

  void expect_survives(const std::string& bytes, Cache::Access access) {
    test::write_file(file_, bytes);
    auto cache = Cache::open(folder_.path(), {access});
    if (cache) expect_right_or_nothing(*cache);
  }

  /// Runs SQL on the file, then expects a counted miss, a removed row, and a cache that works on.
  void expect_removed_after(const std::string& sql) {
    test::run_sql(file_, sql);
    Cache cache = Cache::open(folder_.path()).value();
    EXPECT_FALSE(test::find(cache, sample_));
    EXPECT_EQ(cache.counters()[Counter::damaged_rows], 1u);
    EXPECT_EQ(cache.counters().misses(), 1u);
    EXPECT_EQ(cache.statistics().value().entries, 0u);
    EXPECT_FALSE(test::find(cache, sample_));
    EXPECT_EQ(cache.counters()[Counter::damaged_rows], 1u);
    ASSERT_TRUE(cache.put(sample_.entry()));
    const auto artifact = test::find(cache, sample_);
    ASSERT_TRUE(artifact);
    EXPECT_TRUE(same_artifact(*artifact, as_found(sample_)));
  }

  const Sample sample_ = make_sample(1, 200);
  test::TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "kernels.v1.db";
  std::string pristine_;
};

// The long run of such flips is in tests/fault/.
TEST_F(CacheDamage, RandomBitsAnywhere) {
  std::mt19937 generator(1);
  for (int round = 0; round < 200; ++round) {
    std::string damaged = pristine_;
    flip(damaged, generator() % (8 * damaged.size()));
    SCOPED_TRACE(round);
    expect_survives(damaged, Cache::Access::read_only);
  }
}

TEST_F(CacheDamage, ADamagedPayloadIsRemoved) {
  expect_removed_after("UPDATE entries SET payload = substr(payload, 1, length(payload) - 1)");
}

TEST_F(CacheDamage, AnEmptyPayloadIsRemoved) {
  expect_removed_after("UPDATE entries SET payload = x''");
}

TEST_F(CacheDamage, APayloadThatIsNoBlobIsRemoved) {
  expect_removed_after("UPDATE entries SET payload = 7");
}

TEST_F(CacheDamage, DamagedRequestMaterialIsRemoved) {
  expect_removed_after("UPDATE entries SET material = material || x'00'");
}

TEST_F(CacheDamage, ADamagedToolchainIsRemoved) {
  expect_removed_after("UPDATE entries SET toolchain = zeroblob(16)");
}

TEST_F(CacheDamage, ADamagedKeyIsRemoved) {
  expect_removed_after("UPDATE entries SET key = zeroblob(16)");
}

TEST_F(CacheDamage, ALostDependencySetIsWrittenAnew) {
  expect_removed_after("DELETE FROM dependency_sets");
}

TEST_F(CacheDamage, ADamagedDependencySetIsMended) {
  expect_removed_after("UPDATE dependency_sets SET frame = substr(frame, 2)");
}

TEST_F(CacheDamage, AnEntryThatPointsToNoDependenciesIsRemoved) {
  expect_removed_after("UPDATE entries SET dependencies = NULL");
}

TEST_F(CacheDamage, ADamagedWitnessIsOnlyAHintLost) {
  test::run_sql(file_, "UPDATE witnesses SET frame = substr(frame, 2)");
  Cache cache = Cache::open(folder_.path()).value();
  const auto artifact = cache.find(sample_.request, sample_.witness.roots, [](const Candidate& c) {
    EXPECT_EQ(c.witness, nullptr);
    return true;
  });
  EXPECT_TRUE(artifact);
  EXPECT_EQ(cache.counters()[Counter::damaged_rows], 0u);
}

TEST_F(CacheDamage, AWitnessOfAnotherDependencySetIsNotBelieved) {
  Sample other = make_sample(2);
  other.dependencies.lookups[0].content = digest_of("another header");
  other.witness.stamps[0].inode = 77;
  ASSERT_TRUE(Cache::open(folder_.path()).value().put(other.entry()));
  test::run_sql(file_,
                "UPDATE witnesses SET frame = (SELECT frame FROM witnesses WHERE id = 2) "
                "WHERE id = 1");
  Cache cache = Cache::open(folder_.path()).value();
  EXPECT_TRUE(cache.find(sample_.request, sample_.witness.roots, [](const Candidate& c) {
    EXPECT_EQ(c.witness, nullptr);
    return true;
  }));
}

TEST_F(CacheDamage, PayloadsSwappedBetweenRowsAreNotServed) {
  const Sample other = make_sample(2, 200);
  ASSERT_TRUE(Cache::open(folder_.path()).value().put(other.entry()));
  test::run_sql(file_,
                "CREATE TEMP TABLE kept AS SELECT id, payload FROM entries;"
                "UPDATE entries SET payload = (SELECT payload FROM kept WHERE kept.id = 3 - "
                "entries.id)");
  Cache cache = Cache::open(folder_.path()).value();
  EXPECT_FALSE(test::find(cache, sample_));
  EXPECT_FALSE(test::find(cache, other));
  EXPECT_EQ(cache.counters()[Counter::damaged_rows], 2u);
}

TEST_F(CacheDamage, ASoundCandidateIsServedPastADamagedOne) {
  Sample newer = make_sample(1, 200);
  newer.toolchain.identity = digest_of("another compiler");
  ASSERT_TRUE(Cache::open(folder_.path()).value().put(newer.entry()));
  test::run_sql(file_, "UPDATE entries SET payload = x'00' WHERE id = 2");
  Cache cache = Cache::open(folder_.path()).value();
  const auto artifact =
      cache.find(sample_.request, sample_.witness.roots, [](const Candidate&) { return true; });
  ASSERT_TRUE(artifact);
  EXPECT_EQ(artifact->key, as_found(sample_).key);
  EXPECT_EQ(cache.counters()[Counter::damaged_rows], 1u);
  EXPECT_EQ(cache.statistics().value().entries, 1u);
}

TEST_F(CacheDamage, ADamagedEntryIsShownAsSuchAndLeftAlone) {
  test::run_sql(file_, "UPDATE entries SET payload = x'00'; UPDATE texts SET frame = x'00'");
  Cache cache = Cache::open(folder_.path()).value();
  const auto entry = cache.entry(as_found(sample_).key);
  ASSERT_FALSE(entry);
  EXPECT_EQ(entry.error().code, ErrorCode::io_failed);
  EXPECT_NE(entry.error().message.find(as_found(sample_).key.hex()), std::string::npos);
  const auto text = cache.text(sample_.request.source);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::io_failed);
  EXPECT_EQ(cache.statistics().value().entries, 1u);
  EXPECT_EQ(cache.list().value().size(), 1u);
}

TEST_F(CacheDamage, AReadOnlyCacheCountsDamageAndLeavesIt) {
  test::run_sql(file_, "UPDATE entries SET payload = x'00'");
  const auto before = test::snapshot(folder_.path());
  Cache cache = Cache::open(folder_.path(), {Cache::Access::read_only}).value();
  EXPECT_FALSE(test::find(cache, sample_));
  EXPECT_EQ(cache.counters()[Counter::damaged_rows], 1u);
  EXPECT_EQ(test::snapshot(folder_.path()), before);
}

TEST_F(CacheDamage, TriggersAndViewsDoNotRun) {
  test::run_sql(file_,
                "CREATE TRIGGER planted AFTER INSERT ON entries BEGIN DELETE FROM texts; END");
  {
    Cache cache = Cache::open(folder_.path()).value();
    ASSERT_TRUE(cache.put(make_plain_sample(2).entry()));
    EXPECT_EQ(cache.statistics().value().texts, 3u);
  }
  test::run_sql(file_,
                "ALTER TABLE entries RENAME TO hidden;"
                "CREATE VIEW entries AS SELECT * FROM hidden");
  Cache cache = Cache::open(folder_.path()).value();
  EXPECT_FALSE(test::find(cache, sample_));
  EXPECT_EQ(cache.counters().errors(), 1u);
  EXPECT_FALSE(cache.list());
}

TEST_F(CacheDamage, AFileInWalModeIsLeftAlone) {
  test::run_sql(file_, "PRAGMA journal_mode = WAL");
  const auto before = test::read_file(file_);
  EXPECT_FALSE(Cache::open(folder_.path(), {.access = Cache::Access::read_only}));
  Cache cache = Cache::open(folder_.path()).value();
  EXPECT_EQ(cache.file().filename(), "kernels.v1.g2.db");
  ASSERT_TRUE(cache.put(sample_.entry()));
  EXPECT_TRUE(test::find(cache, sample_));
  EXPECT_EQ(test::read_file(file_), before);
}

TEST_F(CacheDamage, ATableOfAnotherMakingEndsALookUp) {
  test::run_sql(file_,
                "CREATE TABLE other AS SELECT * FROM entries;"
                "DROP TABLE entries;"
                "CREATE TABLE entries AS SELECT -1.5 AS id, * FROM "
                "(SELECT key, request, toolchain, source, dependencies, image_bytes, kernels, "
                "compile_us, created, arch, kind, toolchain_text, program, material, payload "
                "FROM other)");
  Cache cache = Cache::open(folder_.path(), {.access = Cache::Access::read_only}).value();
  EXPECT_FALSE(
      cache.find(sample_.request, sample_.witness.roots, [](const Candidate&) { return false; }));
}

TEST_F(CacheDamage, WhatAWriterThatDiedLeftIsTakenBackByWhoeverLooks) {
  // More than the page cache holds, so that some of it is in the file when the writer dies.
  const auto die = [&](int) -> int {
    sqlite3* handle = nullptr;
    sqlite3_open(file_.c_str(), &handle);
    const int code = sqlite3_exec(handle,
                                  "PRAGMA cache_size = 5; BEGIN IMMEDIATE;"
                                  "UPDATE entries SET payload = randomblob(300000);"
                                  "UPDATE texts SET frame = randomblob(300000)",
                                  nullptr, nullptr, nullptr);
    ::_exit(code == SQLITE_OK ? 7 : 1);
  };
  ASSERT_EQ(test::run_processes(1, die), std::vector<int>(1, 7));
  ASSERT_GT(std::filesystem::file_size(file_.string() + "-journal"), 0u);
  Cache cache = Cache::open(folder_.path(), {.access = Cache::Access::read_only}).value();
  EXPECT_TRUE(test::find(cache, sample_));
  EXPECT_EQ(cache.counters().errors(), 0u);
}

}  // namespace
}  // namespace kiln
