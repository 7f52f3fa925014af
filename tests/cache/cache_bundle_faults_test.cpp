// What becomes of bundles when processes are killed, disks are full, and others write beside.

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "bundle_fixture.h"
#include "file/private_path.h"
#include "file/sqlite.h"
#include "kiln/cache.h"
#include "support.h"
namespace kiln {
namespace {

namespace fs = std::filesystem;
using test::CacheBundle;
using test::make_sample;

TEST_F(CacheBundle, ExportHoldsUpNoWriter) {
  const Cache made = make_cache("cache", {1, 2, 3, 4, 5, 6, 7, 8});
  const auto results = test::run_processes(2, [&](int process) {
    Cache cache = open("cache");
    for (int i = 0; i < 20; ++i) {
      const bool done = process == 0 ? cache.put(make_sample(100 + i).entry()).has_value()
                                     : cache.export_bundle(out_ / "b").has_value();
      if (!done) return 1;
    }
    return cache.counters().errors() == 0 ? 0 : 2;
  });
  EXPECT_EQ(results, std::vector<int>(2, 0));
}

TEST_F(CacheBundle, TakesNoDevicesPlace) {
  Cache cache = make_cache("cache", {1});
  const fs::path pipe = out_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink(pipe, out_ / "link");
  for (const auto& place : {pipe, out_ / "link"}) {
    const auto refused = cache.export_bundle(place);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(refused.error().message.find(place.string() + "' is a device, a pipe"),
              std::string::npos)
        << refused.error().message;
  }
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_TRUE(fs::is_symlink(out_ / "link"));
}

/// Runs `work` in a child process and kills it at this moment.
void kill_midway(const std::function<void()>& work, unsigned moment_us) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(0);
  }
  ::usleep(moment_us);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_F(CacheBundle, AKilledExportLeavesTheWholeBundleOrNone) {
  { const Cache made = make_cache("cache", {1, 2, 3, 4, 5, 6}); }
  { const Cache made = make_cache("part", {2, 3}); }
  const fs::path file = out_ / "b.kiln";
  const auto export_or_merge = [&](bool merged) {
    Cache cache = open("cache");
    Cache part = open("part");
    if (merged) {
      static_cast<void>(part.export_bundle(file, {.also = {&cache}}));
    } else {
      static_cast<void>(cache.export_bundle(file));
    }
  };
  ASSERT_TRUE(open("cache").export_bundle(out_ / "whole"));
  const std::string whole = test::read_file(out_ / "whole");
  fs::remove(out_ / "whole");
  std::mt19937 generator(4);
  int absent = 0;
  int left_behind = 0;
  for (int round = 0; round < 100; ++round) {
    fs::remove(file);
    kill_midway([&] { export_or_merge(round % 2 == 1); },
                static_cast<unsigned>(generator() % 12'000));
    if (!fs::exists(file)) ++absent;
    if (fs::exists(file)) {
      EXPECT_TRUE(test::read_file(file) == whole) << round;
    }
    const auto names = names_in_out();
    EXPECT_LE(names.size(), 2u) << "each removes what the one before left behind";
    if (names.size() > (fs::exists(file) ? 1u : 0u)) ++left_behind;
  }
  ASSERT_TRUE(open("cache").export_bundle(file));
  EXPECT_TRUE(test::read_file(file) == whole);
  EXPECT_EQ(names_in_out(), std::vector<std::string>{"b.kiln"});
  RecordProperty("absent", absent);
  RecordProperty("left_behind", left_behind);
}

TEST_F(CacheBundle, AKilledExportLeavesTheBundleThatWasThere) {
  { const Cache made = make_cache("cache", {1, 2, 3}); }
  const fs::path file = make_bundle({9});
  const std::string before = test::read_file(file);
  ASSERT_TRUE(open("cache").export_bundle(out_ / "whole"));
  const std::string after = test::read_file(out_ / "whole");
  std::mt19937 generator(5);
  for (int round = 0; round < 50; ++round) {
    kill_midway([&] { static_cast<void>(open("cache").export_bundle(file)); },
                static_cast<unsigned>(generator() % 10'000));
    const std::string now = test::read_file(file);
    EXPECT_TRUE(now == before || now == after) << round;
  }
}

TEST_F(CacheBundle, IsTheOneWhoseOwnerWasLookedAt) {
  const auto good = make_bundle({1});
  const auto good_key = Cache::open_bundle(good).value().list().value().front().key;
  const auto bad = out_ / "bad.kiln";
  EXPECT_TRUE(make_cache("bad", {2}).export_bundle(bad, {}));
  fs::permissions(bad, fs::perms(0666));  // Anybody may have written it.
  const auto bundle = out_ / "swapped.kiln";
  fs::copy_file(good, bundle);
  std::atomic<bool> done = false;
  std::thread swapping([&] {
    const auto next = out_ / "next.kiln";
    for (bool turn = true; !done; turn = !turn) {
      fs::create_hard_link(turn ? bad : good, next);
      fs::rename(next, bundle);
    }
  });
  int opened = 0;
  int wrong = 0;
  for (int number = 0; number < 10'000; ++number) {
    auto cache = Cache::open_bundle(bundle);
    if (!cache) continue;
    ++opened;
    if (cache->list().value().front().key != good_key) ++wrong;
  }
  done = true;
  swapping.join();
  EXPECT_GT(opened, 0);
  EXPECT_EQ(wrong, 0);
}

TEST_F(CacheBundle, IsReadFromTheFileThatWasOpenedWhateverTakesItsName) {
  const auto bundle = make_bundle({1});
  const auto other = out_ / "other.kiln";
  EXPECT_TRUE(make_cache("other", {2, 3}).export_bundle(other, {}));
  const int opened = storage::open_private_file(bundle).value();
  fs::rename(other, bundle);
  auto connection = storage::Connection::open(opened, bundle).value();
  ::close(opened);
  EXPECT_EQ(connection.integer("SELECT count(*) FROM entries"), 1);
}

TEST_F(CacheBundle, ImportBringsTheTextsThatSomebodyElseClearsMeanwhile) {
  auto bundle = Cache::open_bundle(make_bundle({1, 2, 3})).value();
  auto cache = make_cache("to", {1000});  // Of the same source and headers.
  const auto lock = folder_.path() / "to" / "kernels.v1.lock";
  const int writer = ::open(lock.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(writer, LOCK_EX), 0);
  std::thread importing([&] { EXPECT_EQ(cache.import(bundle).value().added, 3u); });
  // By then it knows which texts are there, and waits for its turn to write.
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  test::run_sql(
      cache.file(),
      "DELETE FROM entries; DELETE FROM marks; DELETE FROM witnesses; DELETE FROM set_texts;"
      "DELETE FROM dependency_sets; DELETE FROM texts; DELETE FROM kernels");
  ::close(writer);
  importing.join();
  const auto report = cache.verify(true).value();
  EXPECT_EQ(report.entries, 3u);
  EXPECT_EQ(report.texts, make_cache("alone", {1}).verify(true).value().texts);
  for (const auto& found : report.findings) ADD_FAILURE() << found.what << ' ' << found.problem;
}

TEST_F(CacheBundle, AKilledImportLeavesWholeEntries) {
  std::vector<int> numbers(80);
  for (int i = 0; i < 80; ++i) numbers[static_cast<std::size_t>(i)] = i;
  const fs::path file = make_bundle(numbers);
  std::mt19937 generator(6);
  for (int round = 0; round < 100; ++round) {
    if (round % 10 == 0) fs::remove_all(folder_.path() / "cache");
    kill_midway(
        [&] {
          Cache cache = open("cache");
          Cache bundle = Cache::open_bundle(file).value();
          static_cast<void>(cache.import(bundle));
        },
        static_cast<unsigned>(generator() % 30'000));
    auto cache = Cache::open(folder_.path() / "cache");
    ASSERT_TRUE(cache) << cache.error().message;
    const auto entries = cache->list().value();
    for (const auto& entry : entries) EXPECT_TRUE(cache->entry(entry.key));
    EXPECT_EQ(cache->counters()[Counter::generations], 0u);
  }
  Cache cache = open("cache");
  Cache bundle = Cache::open_bundle(file).value();
  const auto report = cache.import(bundle).value();
  EXPECT_EQ(report.added + report.present, 80u);
  expect_serves(cache, numbers, Origin::local);
}

TEST_F(CacheBundle, AFullDiskLeavesTheBundleThatWasThere) {
  {
    Cache cache = open("cache");
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(cache.put(make_sample(i, 50'000).entry()));
  }
  const fs::path file = make_bundle({9});
  const std::string before = test::read_file(file);
  const auto results = test::run_processes(1, [&](int) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{200'000, 200'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    Cache cache = Cache::open(folder_.path() / "cache", {Cache::Access::read_only}).value();
    const auto report = cache.export_bundle(file);
    if (report) return 1;
    if (report.error().message.find(file.string()) == std::string::npos) return 2;
    return report.error().code == ErrorCode::io_failed ? 0 : 3;
  });
  EXPECT_EQ(results, std::vector<int>{0});
  EXPECT_TRUE(test::read_file(file) == before);
  EXPECT_EQ(names_in_out(), std::vector<std::string>{"made.kiln"});
}

TEST_F(CacheBundle, AFullFileSystemLeavesNothingBehind) {
  if (::mount("none", out_.c_str(), "tmpfs", 0, "size=256k") != 0) GTEST_SKIP() << "may not mount";
  Cache cache = open("cache");
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(cache.put(make_sample(i, 50'000).entry()));
  const auto report = cache.export_bundle(out_ / "b");
  EXPECT_FALSE(report);
  EXPECT_TRUE(names_in_out().empty());
  EXPECT_TRUE(make_cache("small", {1}).export_bundle(out_ / "b"));
  ::umount2(out_.c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace kiln
