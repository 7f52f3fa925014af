// F11: many threads on one Cache, each doing everything. Its point is the thread sanitizer.

#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/cache.h"
#include "processes.h"

namespace kiln {
namespace {

using test::Look;
using test::make_sample;

constexpr int threads = 256;
constexpr int samples = 60;
constexpr std::size_t image_bytes = 5'000;
constexpr std::uint64_t small_cap = 250'000;

/// One call of any kind. False where it served something wrong.
bool call_something(Cache& cache, std::mt19937& random) {
  const auto sample = make_sample(static_cast<int>(random() % samples), image_bytes);
  const Digest key = as_found(sample).key;
  switch (random() % 16) {
    case 0:
      return cache.list().has_value();
    case 1:
      return cache.statistics().has_value();
    case 2:
      static_cast<void>(cache.verify(false));
      return true;
    case 3:
      static_cast<void>(cache.collect({.max_bytes = small_cap / 2}));
      return true;
    case 4:
      static_cast<void>(cache.pin(key, random() % 4 == 0));
      return true;
    case 5:
      cache.forget(key);
      return true;
    case 6:
      return cache.history().has_value();
    case 7:
      static_cast<void>(cache.take_turn(key, std::chrono::milliseconds(5)).waited());
      return true;
    case 8: {
      const auto entry = cache.entry(key);
      return !entry || entry->artifact.image == sample.artifact.image;
    }
    case 9:
    case 10:
    case 11:
      static_cast<void>(cache.put(sample.entry()));
      static_cast<void>(cache.counters());
      return !cache.file().empty();
    default:
      return look(cache, sample) != Look::wrong;
  }
}

TEST(F11, ManyThreadsDoEverythingAtOnce) {
  const test::TemporaryFolder folder;
  Cache cache = Cache::open(folder.path(), {.max_bytes = small_cap}).value();
  std::atomic<int> failed = 0;
  std::vector<std::thread> running;
  for (int number = 0; number < threads; ++number) {
    running.emplace_back([&, number] {
      std::mt19937 random(static_cast<unsigned>(number));
      for (int i = 0; i < test::sized(8, 80); ++i) failed += !call_something(cache, random);
    });
  }
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(failed, 0);
  // So many writers may lose their patience with each other, and nothing else may go wrong.
  const auto counters = cache.counters();
  for (const Counter counter : {Counter::misses_damaged, Counter::misses_unreadable,
                                Counter::generations, Counter::reopened}) {
    EXPECT_EQ(counters[counter], 0u) << to_string(counter);
  }
  EXPECT_EQ(counters.errors(), counters[Counter::errors_locked]);
  EXPECT_GT(cache.counters()[Counter::stores], 0u);
  EXPECT_TRUE(serves(cache, make_sample(1000, image_bytes)));
  EXPECT_EQ(test::integrity(cache.file()), "ok");
}

}  // namespace
}  // namespace kiln
