#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/cache.h"
#include "support.h"

namespace kiln {
namespace {

using test::make_sample;

constexpr std::size_t image_bytes = 20'000;

class CacheHistory : public ::testing::Test {
 protected:
  Cache open() { return Cache::open(folder_.path()).value(); }
  /// As a tool opens it.
  Cache open_telling() { return Cache::open(folder_.path(), {.tells_hits = true}).value(); }

  static void put(Cache& cache, int number) {
    const auto stored = cache.put(make_sample(number, image_bytes).entry());
    ASSERT_TRUE(stored) << stored.error().message;
  }

  static bool has(Cache& cache, int number) {
    return test::find(cache, make_sample(number, image_bytes)).has_value();
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

  CacheCounters history() {
    return Cache::open(folder_.path(), {Cache::Access::read_only})->history().value();
  }

  std::vector<Finding> findings() {
    return Cache::open(folder_.path(), {Cache::Access::read_only})->verify(true).value().findings;
  }

  test::TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "kernels.v1.db";
  const std::filesystem::path tally_ = folder_.path() / "kernels.v1.tally";
};

TEST_F(CacheHistory, TheHistoryIsThatOfAllProcesses) {
  const auto results = test::run_processes(2, [&](int process) {
    Cache cache = open();
    for (int number = 0; number < 3; ++number) {
      if (has(cache, 3 * process + number)) return 1;
      if (!cache.put(make_sample(3 * process + number, image_bytes).entry())) return 2;
      if (!has(cache, 3 * process + number)) return 3;
    }
    return 0;
  });
  EXPECT_EQ(results, std::vector<int>(2, 0));
  Cache cache = open();
  const auto history = cache.history().value();
  EXPECT_EQ(history[Counter::stores], 6u);
  EXPECT_EQ(history[Counter::misses_absent], 6u);
  // Those after a process's last store wait for another day.
  EXPECT_EQ(history.hits(), 4u);
  EXPECT_EQ(history[Counter::saved_us], 4u * 27'000);
}

TEST_F(CacheHistory, TheHistoryIsReset) {
  Cache cache = open();
  put(cache, 1);
  EXPECT_EQ(cache.history().value()[Counter::stores], 1u);
  ASSERT_TRUE(cache.reset_history());
  EXPECT_EQ(cache.history().value(), CacheCounters());
  put(cache, 2);
  EXPECT_EQ(cache.history().value()[Counter::stores], 1u);
  EXPECT_TRUE(findings().empty());
}

TEST_F(CacheHistory, AProcessThatOnlyHitsTellsOnceADay) {
  {
    Cache cache = open();
    put(cache, 1);
  }
  const auto before = test::snapshot(folder_.path());
  find_in_a_process({1});
  EXPECT_EQ(test::snapshot(folder_.path()), before);

  test::run_sql(file_, "UPDATE state SET value = value - 2 * 86400 WHERE name = 'history_time'");
  const auto set_back = test::snapshot(folder_.path());
  find_in_a_process({1});
  const auto told = test::snapshot(folder_.path());
  EXPECT_NE(told, set_back);
  EXPECT_EQ(Cache::open(folder_.path(), {Cache::Access::read_only})
                ->history()
                .value()[Counter::hits_local],
            1u);
  find_in_a_process({1});
  EXPECT_EQ(test::snapshot(folder_.path()), told);
}

TEST_F(CacheHistory, AToolTellsItsHitsAtOnceAndLeavesTheDatabase) {
  {
    Cache cache = open();
    put(cache, 1);
  }
  auto before = test::snapshot(folder_.path());
  for (int process = 0; process < 5; ++process) {
    Cache cache = open_telling();
    EXPECT_TRUE(has(cache, 1));
  }
  auto after = test::snapshot(folder_.path());
  EXPECT_EQ(after.erase(tally_.filename()), 1u);
  EXPECT_EQ(after, before);
  EXPECT_EQ(history()[Counter::hits_local], 5u);
  EXPECT_EQ(history()[Counter::saved_us], 5u * 27'000);
  EXPECT_EQ(history()[Counter::stores], 1u);
  EXPECT_TRUE(findings().empty());
}

TEST_F(CacheHistory, AToolThatMissesTellsTheDatabaseAndNothingTwice) {
  {
    Cache cache = open();
    put(cache, 1);
  }
  {
    Cache cache = open_telling();
    EXPECT_TRUE(has(cache, 1));
    EXPECT_FALSE(has(cache, 2));
  }
  EXPECT_FALSE(std::filesystem::exists(tally_));
  EXPECT_EQ(history()[Counter::hits_local], 1u);
  EXPECT_EQ(history()[Counter::misses_absent], 1u);
}

TEST_F(CacheHistory, AToolDoesNotWaitForAWriter) {
  {
    Cache cache = open();
    put(cache, 1);
  }
  const int lock = ::open((folder_.path() / "kernels.v1.lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  {
    Cache cache = open_telling();
    EXPECT_TRUE(has(cache, 1));
  }
  ::close(lock);
  EXPECT_FALSE(std::filesystem::exists(tally_));
}

TEST_F(CacheHistory, DaysAreToldApart) {
  {
    Cache cache = open();
    put(cache, 1);
  }
  {
    Cache cache = open_telling();
    EXPECT_TRUE(has(cache, 1));
  }
  const auto days = open().history_by_day().value();
  ASSERT_EQ(days.size(), 1u) << "run across midnight, it would be two";
  EXPECT_EQ(days[0].counters, history());
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  EXPECT_NEAR(days[0].day, std::chrono::duration_cast<std::chrono::days>(now).count(), 1);

  test::run_sql(file_, "INSERT INTO state VALUES('day.1000.hits_local', 7)");
  test::run_sql(file_, "INSERT INTO state VALUES('day.20000.hits_local', 9)");
  test::write_file(tally_, "0 hits_local=3\n20000 hits_local=4\n");
  const auto sum = open().history_by_day().value();
  ASSERT_EQ(sum.size(), 3u);
  EXPECT_EQ(sum[1].day, 20000);
  EXPECT_EQ(sum[1].counters[Counter::hits_local], 13u);
  EXPECT_EQ(history()[Counter::hits_local], 7u) << "the database's own sum has none of them";

  Cache cache = open();
  put(cache, 2);
  EXPECT_EQ(cache.history_by_day()->front().day, 20000) << "what is a year old goes";
}

TEST_F(CacheHistory, AResetEndsTheToolsTallyToo) {
  {
    Cache cache = open();
    put(cache, 1);
  }
  {
    Cache cache = open_telling();
    EXPECT_TRUE(has(cache, 1));
  }
  ASSERT_TRUE(open().reset_history());
  EXPECT_EQ(history(), CacheCounters());
  EXPECT_TRUE(open().history_by_day()->empty());
  EXPECT_FALSE(std::filesystem::exists(tally_));
}

TEST_F(CacheHistory, ADamagedTallyIsNamedAndBeginsAnew) {
  {
    Cache cache = open();
    put(cache, 1);
  }
  test::write_file(tally_, "20000 hits_local=4\nnonsense");
  EXPECT_EQ(history().hits(), 0u);
  const auto found = findings();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].what, "file");
  EXPECT_EQ(found[0].name, tally_);
  {
    Cache cache = open_telling();
    EXPECT_TRUE(has(cache, 1));
  }
  EXPECT_EQ(history().hits(), 1u);
  EXPECT_TRUE(findings().empty());
}

TEST_F(CacheHistory, ATallyThatIsALinkIsLeftAlone) {
  {
    Cache cache = open();
    put(cache, 1);
  }
  const auto target = folder_.path() / "target";
  test::write_file(target, "mine\n");
  std::filesystem::create_symlink(target, tally_);
  {
    Cache cache = open_telling();
    EXPECT_TRUE(has(cache, 1));
  }
  EXPECT_TRUE(std::filesystem::is_symlink(tally_));
  EXPECT_EQ(test::read_file(target), "mine\n");
  EXPECT_EQ(findings().size(), 1u);
}

}  // namespace
}  // namespace kiln
