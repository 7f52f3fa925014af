// F20: eviction under load, and somebody who reads for long.

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "kiln/cache.h"
#include "processes.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using test::Look;
using test::make_sample;

std::uint64_t size_of(const fs::path& file) {
  std::error_code none;
  const auto size = fs::file_size(file, none);
  return none ? 0 : size;
}

/// The greatest sizes seen of a database and of its journal, looked at all the time.
class Watcher {
 public:
  explicit Watcher(fs::path file) : file_(std::move(file)), thread_([this] { watch(); }) {}
  ~Watcher() { end(); }
  void end() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::uint64_t file_bytes = 0;
  std::uint64_t journal_bytes = 0;

 private:
  void watch() {
    const fs::path journal = file_.string() + "-journal";
    while (!stop_) {
      file_bytes = std::max(file_bytes, size_of(file_));
      journal_bytes = std::max(journal_bytes, size_of(journal));
      test::nap(200us);
    }
  }
  const fs::path file_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

TEST(F20, EvictionUnderLoad) {
  const int puts = test::sized(4'000, 100'000);
  const std::uint64_t cap = static_cast<std::uint64_t>(puts) * 750;  // About half of them.
  constexpr std::uint64_t one_entry = 64 * 1024;
  const test::TemporaryFolder folder;
  Cache cache = Cache::open(folder.path(), {.max_bytes = cap}).value();
  std::atomic<bool> stop = false;
  std::atomic<int> failed = 0;
  std::thread lister([&] {
    Cache reader = Cache::open(folder.path()).value();
    while (!stop) {
      failed += !reader.list().has_value();
      test::nap(10ms);
    }
    failed += reader.counters().errors() != 0;
  });
  Watcher watcher(cache.file());
  for (int number = 0; number < puts; ++number) {
    failed += !cache.put(make_sample(number).entry());
  }
  stop = true;
  lister.join();
  watcher.end();
  EXPECT_EQ(failed, 0);
  EXPECT_GT(cache.counters()[Counter::evictions], static_cast<std::uint64_t>(puts / 4));
  EXPECT_LT(cache.counters()[Counter::evictions], static_cast<std::uint64_t>(puts * 3 / 4));
  EXPECT_LE(watcher.file_bytes, cap + one_entry);
  EXPECT_LT(watcher.journal_bytes, 4u << 20);
  EXPECT_EQ(look(cache, make_sample(puts - 1)), Look::hit);
  EXPECT_EQ(look(cache, make_sample(0)), Look::miss);
  EXPECT_EQ(test::integrity(cache.file()), "ok");
}

TEST(F20, ACapThatWasLoweredIsReachedInSmallSteps) {
  const test::TemporaryFolder folder;
  const std::uint64_t cap = 300'000;
  {
    Cache cache = Cache::open(folder.path()).value();
    for (int number = 0; number < 1'500; ++number) {
      ASSERT_TRUE(cache.put(make_sample(number).entry()));
    }
  }
  Cache cache = Cache::open(folder.path(), {.max_bytes = cap}).value();
  Watcher watcher(cache.file());
  for (int number = 0; number < 100; ++number) {
    ASSERT_TRUE(cache.put(make_sample(10'000 + number).entry()));
  }
  watcher.end();
  EXPECT_LT(watcher.journal_bytes, 4u << 20);
  // What is free beyond a quarter of the file, and a step's 64 pages, is given back.
  EXPECT_LE(size_of(cache.file()), (cap + 64 * 4096) * 4 / 3);
}

TEST(F20, AReaderThatStays) {
  const test::TemporaryFolder folder;
  Cache cache = Cache::open(folder.path()).value();
  ASSERT_TRUE(serves(cache, make_sample(1)));
  const auto before = size_of(cache.file());
  const test::Marks marks(folder.path() / "marks");
  test::Child reader([&] {
    sqlite3* database = nullptr;
    sqlite3_open(cache.file().c_str(), &database);
    sqlite3_exec(database, "BEGIN; SELECT * FROM entries", nullptr, nullptr, nullptr);
    marks.leave('r');
    test::nap(7s);
    sqlite3_close(database);
    return 0;
  });
  ASSERT_TRUE(marks.wait_for('r', 1));
  for (int round = 0; round < 2; ++round) {
    const test::Stopwatch watch;
    EXPECT_FALSE(cache.put(make_sample(2, 100'000).entry()));
    EXPECT_GE(watch.passed(), 500ms);
    EXPECT_LT(watch.passed(), 3s);
    EXPECT_EQ(look(cache, make_sample(1)), Look::hit);
  }
  EXPECT_EQ(cache.counters()[Counter::errors_locked], 2u);
  EXPECT_EQ(size_of(cache.file()), before);
  EXPECT_EQ(reader.result(), 0);
  EXPECT_TRUE(serves(cache, make_sample(2, 100'000)));
}

}  // namespace
}  // namespace kiln
