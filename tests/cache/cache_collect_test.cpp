#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/cache.h"
#include "support.h"

namespace kiln {
namespace {

using test::as_found;
using test::make_plain_sample;
using test::make_sample;
using test::Sample;

constexpr std::uint64_t cap = 400'000;
constexpr std::size_t image_bytes = 20'000;

class CacheCollect : public ::testing::Test {
 protected:
  Cache open(std::uint64_t max_bytes = cap) {
    return Cache::open(folder_.path(), {.max_bytes = max_bytes}).value();
  }

  static void put(Cache& cache, int number) {
    const auto stored = cache.put(make_sample(number, image_bytes).entry());
    ASSERT_TRUE(stored) << stored.error().message;
  }

  static void put(Cache& cache, int first, int last) {
    for (int number = first; number <= last; ++number) put(cache, number);
  }

  static bool has(Cache& cache, int number) {
    return test::find(cache, make_sample(number, image_bytes)).has_value();
  }

  /// The numbers of those that are there, without using them.
  static std::set<int> kept(Cache& cache, int last) {
    std::set<Digest> keys;
    const auto entries = cache.list().value();
    for (const auto& entry : entries) keys.insert(entry.key);
    std::set<int> numbers;
    for (int number = 1; number <= last; ++number) {
      if (keys.contains(as_found(make_sample(number, image_bytes)).key)) numbers.insert(number);
    }
    return numbers;
  }

  /// One process that finds these, and ends.
  void find_in_a_process(const std::vector<int>& numbers) {
    const auto results = test::run_processes(1, [&](int) {
      Cache cache = open();
      return std::all_of(numbers.begin(), numbers.end(), [&](int n) { return has(cache, n); }) ? 0
                                                                                               : 1;
    });
    EXPECT_EQ(results, std::vector<int>(1, 0));
  }

  void expect_sound() {
    const auto report =
        Cache::open(folder_.path(), {Cache::Access::read_only})->verify(true).value();
    for (const auto& [what, name, problem] : report.findings) {
      ADD_FAILURE() << what << ' ' << name << ": " << problem;
    }
  }

  test::TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "kernels.v1.db";
};

TEST_F(CacheCollect, WhatIsUsedStaysHoweverOld) {
  Cache cache = open();
  put(cache, 1, 8);
  for (int number = 9; number <= 60; ++number) {
    EXPECT_TRUE(has(cache, 1));
    EXPECT_TRUE(has(cache, 2));
    put(cache, number);
  }
  const auto numbers = kept(cache, 60);
  EXPECT_TRUE(numbers.contains(1) && numbers.contains(2) && numbers.contains(60));
  EXPECT_FALSE(numbers.contains(3));
  EXPECT_EQ(cache.counters()[Counter::evictions], 60 - numbers.size());
  EXPECT_GT(numbers.size(), 10u) << "no more than needed goes";
  expect_sound();
}

TEST_F(CacheCollect, WithoutUseTheOldestGo) {
  Cache cache = open();
  put(cache, 1, 40);
  const auto numbers = kept(cache, 40);
  EXPECT_EQ(*numbers.rbegin(), 40);
  EXPECT_EQ(*numbers.rbegin() - *numbers.begin() + 1, static_cast<int>(numbers.size()));
}

TEST_F(CacheCollect, AListTellsTheRequestAndWhatWasStoredSinceTheUse) {
  {
    Cache cache = open();
    put(cache, 1, 8);
  }
  const auto told = [&](int number) {
    const auto key = as_found(make_sample(number, image_bytes)).key;
    const auto entries = open().list().value();
    return *std::ranges::find(entries, key, &EntrySummary::key);
  };
  EXPECT_EQ(told(8).stored_since_use, 0U);
  EXPECT_GE(told(7).stored_since_use, told(8).stored_bytes);
  EXPECT_GT(told(1).stored_since_use, told(2).stored_since_use);
  find_in_a_process({1});
  EXPECT_EQ(told(1).stored_since_use, 0U);
  EXPECT_GT(told(2).stored_since_use, 0U);
  EXPECT_EQ(told(1).request, digest_of(make_sample(1, image_bytes).request.material()));
}

TEST_F(CacheCollect, AWrongClockEvictsNothingElse) {
  Cache cache = open();
  put(cache, 1, 10);
  test::run_sql(file_, "UPDATE entries SET created = 4000000000 - created");
  put(cache, 11, 40);
  const auto numbers = kept(cache, 40);
  EXPECT_EQ(*numbers.rbegin() - *numbers.begin() + 1, static_cast<int>(numbers.size()));
}

TEST_F(CacheCollect, PinnedEntriesStay) {
  Cache cache = open();
  put(cache, 1, 3);
  ASSERT_TRUE(cache.pin(as_found(make_sample(2, image_bytes)).key, true));
  put(cache, 4, 60);
  EXPECT_TRUE(kept(cache, 60).contains(2));
  EXPECT_FALSE(kept(cache, 60).contains(1));
  ASSERT_TRUE(cache.collect({.max_bytes = 0}));
  EXPECT_EQ(kept(cache, 60), std::set<int>{2});
  EXPECT_TRUE(cache.list().value().at(0).pinned);
  ASSERT_TRUE(cache.pin(as_found(make_sample(2, image_bytes)).key, false));
  EXPECT_FALSE(cache.list().value().at(0).pinned);
  EXPECT_EQ(cache.collect({.max_bytes = 0}).value().entries, 1u);
  EXPECT_EQ(cache.statistics().value().entries, 0u);
}

TEST_F(CacheCollect, APinOutlivesAReplacement) {
  Cache cache = open();
  put(cache, 1);
  ASSERT_TRUE(cache.pin(as_found(make_sample(1, image_bytes)).key, true));
  put(cache, 1);
  EXPECT_TRUE(cache.list().value().at(0).pinned);
}

TEST_F(CacheCollect, PinningRefusesWhatItMust) {
  {
    Cache cache = open();
    put(cache, 1);
    EXPECT_EQ(cache.pin(digest_of("none"), true).error().code, ErrorCode::not_found);
  }
  Cache cache = Cache::open(folder_.path(), {Cache::Access::read_only}).value();
  const auto key = cache.list().value().at(0).key;
  EXPECT_EQ(cache.pin(key, true).error().code, ErrorCode::cache_unusable);
  EXPECT_EQ(cache.collect({.max_bytes = 0}).error().code, ErrorCode::cache_unusable);
  EXPECT_EQ(cache.clear().error().code, ErrorCode::cache_unusable);
  EXPECT_EQ(cache.reset_history().error().code, ErrorCode::cache_unusable);
}

TEST_F(CacheCollect, WhatIsLargerThanTheCapIsNotStored) {
  Cache cache = open();
  put(cache, 1, 3);
  const auto before = test::snapshot(folder_.path());
  const auto stored = cache.put(make_sample(9, cap + 1).entry());
  ASSERT_FALSE(stored);
  EXPECT_EQ(stored.error().code, ErrorCode::too_large);
  EXPECT_EQ(test::snapshot(folder_.path()), before);
  EXPECT_EQ(cache.counters()[Counter::too_large], 1u);
  EXPECT_EQ(cache.counters().errors(), 0u);
}

TEST_F(CacheCollect, WhatPinnedEntriesLeaveNoRoomForIsNotStored) {
  Cache cache = open();
  put(cache, 1, 10);
  const auto before = cache.list().value();
  for (const auto& entry : before) ASSERT_TRUE(cache.pin(entry.key, true));
  const auto stored = cache.put(make_sample(99, 250'000).entry());
  ASSERT_FALSE(stored);
  EXPECT_EQ(stored.error().code, ErrorCode::too_large);
  EXPECT_NE(stored.error().message.find("unpin"), std::string::npos);
  EXPECT_EQ(cache.list().value().size(), before.size());
  EXPECT_FALSE(test::find(cache, make_sample(99, 250'000)));
  expect_sound();
}

TEST_F(CacheCollect, HotEntriesOfProcessesThatOnlyHitSurvive) {
  const std::vector<int> hot{1, 2, 3};
  {
    Cache cache = open();
    put(cache, 1, 3);
  }
  int number = 10;
  for (int round = 0; round < 25; ++round) {
    const auto results = test::run_processes(1, [&](int) {
      Cache cache = open();
      for (int i = 0; i < 4; ++i) {
        if (!cache.put(make_sample(number + i, image_bytes).entry())) return 1;
      }
      return 0;
    });
    ASSERT_EQ(results, std::vector<int>(1, 0));
    number += 4;
    find_in_a_process(hot);
  }
  Cache cache = open();
  const auto numbers = kept(cache, number);
  for (const int each : hot) EXPECT_TRUE(numbers.contains(each)) << each;
  EXPECT_FALSE(numbers.contains(10));
  expect_sound();
}

TEST_F(CacheCollect, TheFileStaysBelowTheCapAndOneEntry) {
  constexpr std::size_t largest = 65'000;
  Cache cache = open();
  for (int number = 1; number <= 100; ++number) {
    const std::size_t size = static_cast<std::size_t>(number * 7919) % largest;
    ASSERT_TRUE(cache.put(make_sample(number, size).entry()));
    EXPECT_LE(std::filesystem::file_size(file_), cap + largest + 4 * 4096) << number;
  }
  EXPECT_GT(cache.counters()[Counter::evictions], 0u);
}

TEST_F(CacheCollect, ALowerCapTakesHoldWithTheNextPut) {
  {
    Cache cache = open();
    put(cache, 1, 15);
  }
  Cache cache = open(120'000);
  put(cache, 20);
  EXPECT_LE(cache.statistics().value().stored_bytes, 120'000u);
  EXPECT_TRUE(kept(cache, 20).contains(20));
}

TEST_F(CacheCollect, WhatOnlyTheRemovedNeededGoesWithThem) {
  Cache cache = open();
  put(cache, 1, 2);  // Share source, headers and set.
  Sample other = make_sample(3, image_bytes);
  other.source = "// another source\n";
  other.request.source = digest_of(other.source);
  other.headers[0] = "// another header\n";
  other.dependencies.lookups[0].content = digest_of(other.headers[0]);
  ASSERT_TRUE(cache.put(other.entry()));
  EXPECT_EQ(cache.statistics().value().texts, 5u);
  EXPECT_EQ(cache.statistics().value().dependency_sets, 2u);

  ASSERT_TRUE(cache.pin(as_found(make_sample(1, image_bytes)).key, true));
  ASSERT_TRUE(cache.collect({.max_bytes = 0}));
  EXPECT_EQ(cache.statistics().value().entries, 1u);
  EXPECT_EQ(cache.statistics().value().texts, 3u);
  EXPECT_EQ(cache.statistics().value().dependency_sets, 1u);
  EXPECT_FALSE(cache.text(digest_of(other.source)));
  EXPECT_FALSE(cache.text(digest_of(other.headers[0])));
  EXPECT_TRUE(cache.text(digest_of(other.headers[1])));
  expect_sound();
}

TEST_F(CacheCollect, OldOnesGoByTheirTime) {
  Cache cache = open();
  put(cache, 1, 6);
  test::run_sql(file_, "UPDATE entries SET created = created - 7200 WHERE id <= 2");
  EXPECT_EQ(cache.collect({.older_than = std::chrono::hours(3)}).value().entries, 0u);
  const auto report = cache.collect({.older_than = std::chrono::hours(1)}).value();
  EXPECT_EQ(report.entries, 2u);
  EXPECT_GT(report.bytes, 2 * image_bytes);
  EXPECT_EQ(kept(cache, 6), (std::set<int>{3, 4, 5, 6}));
}

TEST_F(CacheCollect, NoMoreGoesThanIsTooMuch) {
  constexpr std::size_t header_bytes = 500'000;
  Cache cache = open(std::uint64_t{1} << 30);
  Sample first = make_sample(1, image_bytes);
  first.headers[0] = test::random_bytes(header_bytes, 1);
  first.dependencies.lookups[0].content = digest_of(first.headers[0]);
  ASSERT_TRUE(cache.put(first.entry()));
  put(cache, 2, 12);
  const auto used = cache.statistics().value().file_bytes;
  const GcOptions options{.max_bytes = used - 100'000};
  EXPECT_EQ(cache.collect({.max_bytes = options.max_bytes, .dry_run = true}).value().entries, 1u);
  EXPECT_EQ(cache.collect(options).value().entries, 1u) << "its header was the most of it";
  EXPECT_EQ(kept(cache, 12), (std::set<int>{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_LT(cache.statistics().value().file_bytes, used - header_bytes);
  expect_sound();
}

TEST_F(CacheCollect, WhatIsTooOldMakesRoomFirst) {
  Cache cache = open(std::uint64_t{1} << 30);
  put(cache, 1, 12);
  test::run_sql(file_, "UPDATE entries SET created = created - 7200 WHERE id > 6");
  const GcOptions options{.max_bytes = cache.statistics().value().file_bytes - 3 * image_bytes,
                          .older_than = std::chrono::hours(1)};
  EXPECT_EQ(cache.collect({options.max_bytes, options.older_than, true}).value().entries, 6u);
  EXPECT_EQ(cache.collect(options).value().entries, 6u);
  EXPECT_EQ(kept(cache, 12), (std::set<int>{1, 2, 3, 4, 5, 6}));
}

TEST_F(CacheCollect, AFileThatCannotBeShrunkKeepsItsPages) {
  {
    Cache cache = open();
    put(cache, 1, 6);
  }
  {
    // As damage may: the header says that the file has no pointers for an incremental vacuum.
    std::fstream file(file_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(52).write("\0\0\0\0", 4);
  }
  Cache cache = open();
  EXPECT_EQ(cache.collect({.max_bytes = 0}).value().entries, 6u);
  ASSERT_TRUE(cache.clear());
}

// A dry run goes by estimates, a row of which frees a page or not.
TEST_F(CacheCollect, ADryRunTellsNearlyWhatGoes) {
  for (const std::size_t bytes : {1'200, 3'200, 4'100, 5'000, 8'600}) {
    test::TemporaryFolder folder;
    Cache cache = Cache::open(folder.path(), {.max_bytes = std::uint64_t{1} << 30}).value();
    constexpr int entries = 300;
    for (int number = 1; number <= entries; ++number)
      ASSERT_TRUE(cache.put(make_sample(number, bytes).entry()));
    const auto half = cache.statistics().value().file_bytes / 2;
    const auto told = cache.collect({.max_bytes = half, .dry_run = true}).value().entries;
    const auto removed = cache.collect({.max_bytes = half}).value().entries;
    EXPECT_NEAR(static_cast<double>(told), static_cast<double>(removed), entries / 10) << bytes;
  }
}

TEST_F(CacheCollect, ADryRunTellsAndChangesNothing) {
  {
    Cache cache = open();
    put(cache, 1, 10);
  }
  const auto before = test::snapshot(folder_.path());
  GcReport told;
  {
    Cache cache = Cache::open(folder_.path(), {Cache::Access::read_only}).value();
    told = cache.collect({.max_bytes = 100'000, .dry_run = true}).value();
  }
  EXPECT_EQ(test::snapshot(folder_.path()), before);
  EXPECT_GT(told.entries, 4u);
  Cache cache = open();
  const auto removed = cache.collect({.max_bytes = 100'000}).value();
  EXPECT_NEAR(static_cast<double>(removed.entries), static_cast<double>(told.entries), 1);
  EXPECT_LE(std::filesystem::file_size(file_), 100'000u);
  EXPECT_EQ(cache.history().value()[Counter::evictions], removed.entries);
}

TEST_F(CacheCollect, RemovesTheEntriesThatAreNamed) {
  Cache cache = open(std::uint64_t{1} << 30);
  put(cache, 1, 200);
  std::vector<Digest> keys;
  for (int number = 11; number <= 200; ++number)
    keys.push_back(as_found(make_sample(number, image_bytes)).key);
  ASSERT_TRUE(cache.pin(keys.front(), true));
  keys.insert(keys.begin() + 5, 100, digest_of("no key"));
  EXPECT_EQ(cache.remove(keys).value().entries, 190u);
  EXPECT_EQ(kept(cache, 200), (std::set<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(cache.remove(keys).value().entries, 0u);
  EXPECT_EQ(cache.remove({}).value().entries, 0u);
  expect_sound();
}

TEST_F(CacheCollect, ClearLeavesNothing) {
  Cache cache = open(std::uint64_t{1} << 30);
  put(cache, 1, 100);
  ASSERT_TRUE(cache.pin(as_found(make_sample(5, image_bytes)).key, true));
  test::run_sql(file_, "INSERT INTO texts VALUES(999, randomblob(16), 1, x'00')");
  EXPECT_EQ(cache.clear().value().entries, 100u);
  const auto sums = cache.statistics().value();
  EXPECT_EQ(sums.entries + sums.texts + sums.dependency_sets, 0u);
  EXPECT_LT(sums.file_bytes, 200'000u);
  expect_sound();
  put(cache, 1);
  EXPECT_TRUE(has(cache, 1));
}

TEST_F(CacheCollect, WhatBelongsToNoEntryIsCollected) {
  Cache cache = open();
  put(cache, 1, 2);
  test::run_sql(file_,
                "INSERT INTO texts VALUES(999, randomblob(16), 1, x'00');"
                "INSERT INTO marks VALUES(999, 0, 0);"
                "INSERT INTO dependency_sets VALUES(999, randomblob(16), x'00')");
  EXPECT_EQ(cache.collect({.max_bytes = cap}).value().entries, 0u);
  expect_sound();
}

TEST_F(CacheCollect, TextsEvictedWhileAnEntryWaitsToBeStoredAreWrittenAnew) {
  Cache cache = open();
  put(cache, 1);
  const int other = ::open((folder_.path() / "kernels.v1.lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  std::thread waiting([&] { put(cache, 2); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  test::run_sql(file_,
                "DELETE FROM entries; DELETE FROM texts; DELETE FROM set_texts; "
                "DELETE FROM witnesses; DELETE FROM dependency_sets; DELETE FROM marks; "
                "DELETE FROM kernels");
  ::close(other);
  waiting.join();
  EXPECT_EQ(cache.statistics().value().texts, 3u);
  expect_sound();
}

TEST_F(CacheCollect, ASetThatCameWithoutItsTextsIsCompletedLater) {
  Cache cache = open();
  const Sample bare = make_sample(1, image_bytes);
  NewEntry entry = bare.entry();
  entry.texts.clear();
  ASSERT_TRUE(cache.put(entry));
  put(cache, 2);
  expect_sound();
  ASSERT_TRUE(cache.collect({.max_bytes = 0}));
  EXPECT_EQ(cache.statistics().value().texts, 0u);
}

TEST_F(CacheCollect, AMarkOfNoEntryKeepsTheCapAllTheSame) {
  Cache cache = open();
  put(cache, 1);
  test::run_sql(file_, "INSERT INTO marks VALUES(999999999, 0, 0)");
  put(cache, 2, 60);
  EXPECT_LE(std::filesystem::file_size(file_), cap + 2 * image_bytes);
  EXPECT_LE(cache.counters()[Counter::evictions], 60u);
}

TEST_F(CacheCollect, AnEntryWithoutAMarkGoesLikeAnyOther) {
  Cache cache = open();
  put(cache, 1, 15);
  test::run_sql(file_, "DELETE FROM marks");
  put(cache, 16, 60);
  EXPECT_LE(std::filesystem::file_size(file_), cap + 2 * image_bytes);
  test::run_sql(file_, "DELETE FROM marks");
  EXPECT_GT(cache.collect({.max_bytes = 0}).value().entries, 0u);
  EXPECT_EQ(cache.statistics().value().entries, 0u);
}

TEST_F(CacheCollect, APutMendsADamagedText) {
  Cache cache = open();
  put(cache, 1);
  test::run_sql(file_, "UPDATE texts SET frame = x'00'");
  put(cache, 2);
  expect_sound();
}

TEST_F(CacheCollect, AHolderOfTheLockThatStopsCostsThePatienceOnce) {
  Cache cache = open();
  put(cache, 1);
  const int other = ::open((folder_.path() / "kernels.v1.lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  const auto refused = [&](int number) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(cache.put(make_sample(number, image_bytes).entry()));
    return std::chrono::steady_clock::now() - begin;
  };
  const auto first = refused(2);
  EXPECT_LT(refused(3) * 10, first) << "relative, whatever the machine";
  ::close(other);
  put(cache, 4);
}

}  // namespace
}  // namespace kiln
