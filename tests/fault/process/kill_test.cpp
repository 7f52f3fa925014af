// F1: writers are killed at random moments. F8: many processes first open one empty cache.

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <list>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/cache.h"
#include "processes.h"

namespace kiln {
namespace {

using namespace std::chrono_literals;
using test::Child;
using test::Look;
using test::make_sample;

constexpr int writers = 4;
constexpr int samples = 200;
constexpr std::size_t image_bytes = 8'000;
constexpr std::uint64_t small_cap = 600'000;  // About a third of the samples.

enum Verdict { wrong_image = 10, cannot_open = 11, cannot_put = 12 };

/// A put may fail while the file is being spoilt, not again and again.
int write_for_ever(const std::filesystem::path& directory, unsigned seed) {
  std::mt19937 random(seed);
  auto cache = Cache::open(directory, {.max_bytes = small_cap});
  if (!cache) return cannot_open;
  for (int failures = 0; failures < 20;) {
    const auto put = make_sample(static_cast<int>(random() % samples), image_bytes);
    failures = cache->put(put.entry()) ? 0 : failures + 1;
    const auto other = make_sample(static_cast<int>(random() % samples), image_bytes);
    if (look(*cache, other) == Look::wrong) return wrong_image;
  }
  return cannot_put;
}

void spoil(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  EXPECT_EQ(::pwrite(descriptor, "no database any more", 20, 0), 20);
  ::close(descriptor);
}

/// `generations`: now and then the file is spoilt as well, so that kills meet the change.
void kill_writers(const std::filesystem::path& directory, int kills, bool generations) {
  std::mt19937 random(4711);
  unsigned seed = 0;
  const auto writer = [&] {
    const unsigned own = ++seed;
    return Child([&, own] { return write_for_ever(directory, own); });
  };
  std::list<Child> running;
  for (int i = 0; i < writers; ++i) running.push_back(writer());
  for (int kill = 0; kill < kills; ++kill) {
    test::nap(std::chrono::microseconds(random() % 30'000));
    if (generations && kill % 5 == 4) {
      Cache cache = Cache::open(directory).value();
      spoil(cache.file());
    }
    running.front().signal(SIGKILL);
    EXPECT_EQ(running.front().result(), -SIGKILL);
    running.pop_front();
    running.push_back(writer());
  }
  for (Child& child : running) {
    child.signal(SIGKILL);
    EXPECT_EQ(child.result(), -SIGKILL);
  }
}

void expect_right_or_missing(const std::filesystem::path& directory) {
  auto cache = Cache::open(directory);
  ASSERT_TRUE(cache) << cache.error().message;
  int hits = 0;
  for (int number = 0; number < samples; ++number) {
    const Look found = look(*cache, make_sample(number, image_bytes));
    EXPECT_NE(found, Look::wrong) << number;
    hits += found == Look::hit;
  }
  EXPECT_GT(hits, 0);
  EXPECT_EQ(cache->counters()[Counter::misses_damaged], 0u);
}

TEST(F1, WritersAndEvictorsKilled) {
  const test::TemporaryFolder folder;
  kill_writers(folder.path(), test::sized(140, 700), false);
  expect_right_or_missing(folder.path());
  test::expect_in_order(folder.path());
  EXPECT_EQ(Cache::open(folder.path()).value().file().filename(), "kernels.v1.db");
}

TEST(F1, WritersKilledWhileTheGenerationChanges) {
  const test::TemporaryFolder folder;
  kill_writers(folder.path(), test::sized(60, 300), true);
  test::expect_in_order(folder.path());
  EXPECT_NE(Cache::open(folder.path()).value().file().filename(), "kernels.v1.db");
}

TEST(F8, SixtyFourProcessesFirstOpenOneCache) {
  constexpr int processes = 64;
  const test::TemporaryFolder folder;
  for (int round = 0; round < test::sized(20, 100); ++round) {
    const auto directory = folder.path() / std::to_string(round) / "kiln";
    const auto results = test::run_processes(processes, [&](int number) {
      auto cache = Cache::open(directory);
      if (!cache) {
        std::cerr << cache.error().message << '\n';
        return 1;
      }
      const auto served = serves(*cache, make_sample(number, 5000));
      if (!served) std::cerr << served.message() << '\n';
      return served && cache->counters().errors() == 0 ? 0 : 2;
    });
    ASSERT_EQ(results, std::vector<int>(processes, 0)) << "round " << round;
    Cache cache = Cache::open(directory).value();
    EXPECT_EQ(cache.statistics().value().entries, static_cast<std::uint64_t>(processes));
    EXPECT_EQ(cache.file().filename(), "kernels.v1.db");
  }
}

}  // namespace
}  // namespace kiln
