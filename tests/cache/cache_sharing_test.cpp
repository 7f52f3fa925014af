#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "file/database.h"
#include "file/sqlite.h"
#include "kiln/cache.h"
#include "support.h"

namespace kiln {
namespace {

using test::as_found;
using test::make_sample;
using test::same_artifact;

/// One that a put waits for, on whatever machine.
test::Sample costly_sample(int number) {
  test::Sample sample = make_sample(number, 5000);
  sample.artifact.compile_us = 60'000'000;
  return sample;
}

class CacheSharing : public ::testing::Test {
 protected:
  /// 0 where the entry was put and comes back right. A look-up gives up after a second behind other processes'
  /// commits, which a loaded machine may take for them: then it is a miss, and the next one finds it.
  static int put_and_find(Cache& cache, int number) {
    const test::Sample sample = costly_sample(number);
    if (!cache.put(sample.entry())) return 1;
    for (int tries = 0; tries < 10; ++tries) {
      const auto artifact = test::find(cache, sample);
      if (artifact) return same_artifact(*artifact, as_found(sample)) ? 0 : 2;
    }
    return 2;
  }

  test::TemporaryFolder folder_;
};

TEST_F(CacheSharing, ManyProcessesFirstOpenOneCache) {
  for (int round = 0; round < 5; ++round) {
    const auto directory = folder_.path() / std::to_string(round) / "kiln";
    const auto results = test::run_processes(16, [&](int number) {
      auto cache = Cache::open(directory);
      if (!cache) std::cerr << cache.error().message << '\n';
      return cache ? put_and_find(*cache, number) : 3;
    });
    EXPECT_EQ(results, std::vector<int>(16, 0));
    EXPECT_EQ(Cache::open(directory).value().statistics().value().entries, 16u);
  }
}

TEST_F(CacheSharing, ProcessesWriteAndReadBesideEachOther) {
  constexpr int processes = 4;
  constexpr int entries = 12;
  const auto results = test::run_processes(processes, [&](int process) {
    auto cache = Cache::open(folder_.path());
    if (!cache) return 3;
    for (int i = 0; i < entries; ++i) {
      if (const int result = put_and_find(*cache, process * entries + i)) return result;
    }
    return 0;
  });
  EXPECT_EQ(results, std::vector<int>(processes, 0));
  Cache cache = Cache::open(folder_.path()).value();
  for (int number = 0; number < processes * entries; ++number) {
    const auto artifact = test::find(cache, costly_sample(number));
    ASSERT_TRUE(artifact) << number;
    EXPECT_TRUE(same_artifact(*artifact, as_found(costly_sample(number))));
  }
  EXPECT_EQ(cache.statistics().value().texts, 3u);
}

TEST_F(CacheSharing, AnOpenCacheSeesWhatAnotherProcessStores) {
  const auto stored = [&] {
    return test::run_processes(1, [&](int) {
      auto cache = Cache::open(folder_.path());
      return cache ? put_and_find(*cache, 1) : 3;
    });
  };
  // Forked before this process has a connection: none may cross a fork.
  const auto results = stored();
  EXPECT_EQ(results, std::vector<int>(1, 0));
  Cache first = Cache::open(folder_.path()).value();
  Cache second = Cache::open(folder_.path()).value();
  EXPECT_TRUE(test::find(first, costly_sample(1)));
  ASSERT_TRUE(second.put(make_sample(2).entry()));
  EXPECT_TRUE(test::find(first, make_sample(2)));
}

TEST_F(CacheSharing, ThreadsShareOneCache) {
  constexpr int threads = 8;
  constexpr int rounds = 12;
  Cache cache = Cache::open(folder_.path()).value();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> workers;
  for (int worker = 0; worker < threads; ++worker) {
    workers.emplace_back([&, worker] {
      for (int round = 0; round < rounds; ++round) {
        // Half of the numbers are another thread's as well.
        if (put_and_find(cache, worker / 2 * rounds + round) != 0) ++wrong;
        static_cast<void>(cache.counters());
        if (!cache.list() || !cache.statistics()) ++wrong;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(cache.statistics().value().entries, static_cast<std::uint64_t>(threads / 2 * rounds));
  EXPECT_EQ(cache.counters().errors(), 0u);
  EXPECT_EQ(cache.history().value()[Counter::stores], cache.counters()[Counter::stores])
      << "what one thread told, no other tells again";
}

/// Puts while another connection reads, for so long at most.
Outcome put_beside_a_reader(const std::filesystem::path& folder, std::uint64_t compile_us,
                            std::chrono::milliseconds reading) {
  Cache cache = Cache::open(folder).value();
  test::Sample sample = make_sample(1);
  sample.artifact.compile_us = compile_us;
  auto opened = storage::Connection::open(cache.file(), storage::Connection::Mode::read_only);
  auto& reader = opened.value();
  EXPECT_EQ(reader.execute("BEGIN; SELECT count(*) FROM entries"), SQLITE_OK);
  auto put = std::async(std::launch::async, [&] { return cache.put(sample.entry()); });
  put.wait_for(reading);
  EXPECT_EQ(reader.execute("ROLLBACK"), SQLITE_OK);
  return put.get();
}

TEST_F(CacheSharing, APutWaitsAsLongAsWhatItStoresIsWorth) {
  using namespace std::chrono_literals;
  EXPECT_EQ(storage::put_patience(0us), 1s);
  EXPECT_EQ(storage::put_patience(4'500ms), 4'500ms);
  EXPECT_EQ(storage::put_patience(10min), 15s);
  EXPECT_TRUE(put_beside_a_reader(folder_.path(), 60'000'000, 3s));
  EXPECT_FALSE(put_beside_a_reader(folder_.path(), 27'000, 30s));
}

TEST_F(CacheSharing, AWriterThatHoldsTheLockKeepsNoHitWaiting) {
  Cache cache = Cache::open(folder_.path()).value();
  ASSERT_EQ(put_and_find(cache, 1), 0);
  const int other = ::open((folder_.path() / "kernels.v1.lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(other, 0);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  std::thread waiting([&] { EXPECT_TRUE(cache.put(make_sample(2).entry())); });
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(test::find(cache, costly_sample(1)));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(cache.counters()[Counter::stores], 1u);
  ::flock(other, LOCK_UN);
  waiting.join();
  ::close(other);
}

TEST_F(CacheSharing, ADamagedRowIsLeftWhileSomebodyWrites) {
  const test::Sample sample = make_sample(1);
  ASSERT_TRUE(Cache::open(folder_.path()).value().put(sample.entry()));
  test::run_sql(folder_.path() / "kernels.v1.db", "UPDATE entries SET payload = x'00'");
  Cache cache = Cache::open(folder_.path()).value();
  const int other = ::open((folder_.path() / "kernels.v1.lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  EXPECT_FALSE(test::find(cache, sample));
  EXPECT_EQ(cache.statistics().value().entries, 1u);
  ::close(other);
  EXPECT_FALSE(test::find(cache, sample));
  EXPECT_EQ(cache.statistics().value().entries, 0u);
  EXPECT_EQ(cache.counters()[Counter::damaged_rows], 2u);
}

}  // namespace
}  // namespace kiln
