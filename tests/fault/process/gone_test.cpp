// F17: files of other versions and generations. F19: what is open is deleted or renamed.

#include <chrono>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "kiln/cache.h"
#include "processes.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using test::Look;
using test::make_sample;

class Gone : public ::testing::Test {
 protected:
  Gone() { EXPECT_TRUE(cache_.put(make_sample(1).entry())); }
  fs::path at(const char* name) const { return directory_ / name; }

  /// Puts and finds through the old object, and finds through a new one.
  void expect_noticed_at_a_put() {
    EXPECT_TRUE(serves(cache_, make_sample(2)));
    Cache other = Cache::open(directory_).value();
    EXPECT_EQ(look(other, make_sample(2)), Look::hit);
    EXPECT_EQ(test::integrity(other.file()), "ok");
  }

  test::TemporaryFolder folder_;
  const fs::path directory_ = folder_.path() / "kiln";
  Cache cache_ = Cache::open(directory_).value();
};

class F17 : public Gone {};
class F19 : public Gone {};

TEST_F(F17, AnOlderOrNewerVersionIsLeftAlone) {
  for (const char* version : {"0", "2", "4294967"}) {
    const auto directory = folder_.path() / version;
    ASSERT_TRUE(Cache::open(directory).value().put(make_sample(1).entry()));
    const auto file = directory / "kernels.v1.db";
    test::run_sql(file, std::string("PRAGMA user_version = ") + version);
    const auto before = test::read_file(file);
    Cache cache = Cache::open(directory).value();
    EXPECT_EQ(look(cache, make_sample(1)), Look::miss);
    EXPECT_TRUE(serves(cache, make_sample(1)));
    EXPECT_EQ(cache.counters()[Counter::generations], 1u);
    EXPECT_EQ(cache.file().filename(), "kernels.v1.g2.db");
    EXPECT_EQ(test::read_file(file), before);
  }
}

TEST_F(F17, ALaterSchemaBesideItIsNotTouched) {
  const std::string other = "of another kiln";
  test::write_file(at("kernels.v2.db"), other);
  test::write_file(at("kernels.v2.g3.db"), other);
  expect_noticed_at_a_put();
  ASSERT_TRUE(cache_.clear());
  EXPECT_EQ(test::read_file(at("kernels.v2.db")), other);
  EXPECT_EQ(test::read_file(at("kernels.v2.g3.db")), other);
}

TEST_F(F17, WhoHasTheOldGenerationOpenGoesOn) {
  ASSERT_TRUE(test::holds_in_child([&] {
    test::write_file(at("kernels.v1.g2.db"), "no database");
    Cache begins_another = Cache::open(directory_).value();
    EXPECT_EQ(begins_another.file().filename(), "kernels.v1.g3.db");
    EXPECT_TRUE(serves(begins_another, make_sample(3)));
  }));
  EXPECT_EQ(look(cache_, make_sample(1)), Look::hit);
  EXPECT_EQ(cache_.file().filename(), "kernels.v1.db");
  // A miss looks for a newer one, and finds what is there.
  EXPECT_EQ(look(cache_, make_sample(3)), Look::hit);
  EXPECT_EQ(cache_.file().filename(), "kernels.v1.g3.db");
  expect_noticed_at_a_put();
}

TEST_F(F19, TheDatabaseIsDeleted) {
  fs::remove(at("kernels.v1.db"));
  EXPECT_EQ(look(cache_, make_sample(1)), Look::hit);
  EXPECT_EQ(look(cache_, make_sample(9)), Look::miss);
  EXPECT_EQ(cache_.counters()[Counter::reopened], 1u);
  expect_noticed_at_a_put();
  EXPECT_EQ(cache_.counters()[Counter::reopened], 1u);
}

TEST_F(F19, TheDatabaseIsRenamedAndAnotherTakesItsPlace) {
  Cache other = Cache::open(folder_.path() / "other").value();
  ASSERT_TRUE(other.put(make_sample(5).entry()));
  fs::rename(at("kernels.v1.db"), folder_.path() / "aside");
  fs::rename(other.file(), at("kernels.v1.db"));
  EXPECT_EQ(look(cache_, make_sample(5)), Look::hit);
  expect_noticed_at_a_put();
  EXPECT_EQ(test::integrity(folder_.path() / "aside"), "ok");
}

TEST_F(F19, TheDirectoryIsDeleted) {
  fs::remove_all(directory_);
  expect_noticed_at_a_put();
}

TEST_F(F19, TheDirectoryIsRenamed) {
  fs::rename(directory_, folder_.path() / "moved");
  expect_noticed_at_a_put();
  Cache moved = Cache::open(folder_.path() / "moved").value();
  EXPECT_EQ(look(moved, make_sample(1)), Look::hit);
  EXPECT_EQ(look(moved, make_sample(2)), Look::miss);
}

TEST_F(F19, TheDirectoryIsGoneAndMayNotBeMadeAgain) {
  const Digest key = digest_of("x");
  fs::remove_all(directory_);
  test::write_file(directory_, "a file in its place");
  const test::Stopwatch watch;
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(cache_.put(make_sample(2).entry()));
    EXPECT_EQ(look(cache_, make_sample(1)), Look::hit);
    EXPECT_EQ(look(cache_, make_sample(2)), Look::miss);
    EXPECT_FALSE(cache_.take_turn(key, 1s).exclusive());
  }
  EXPECT_LT(watch.passed(), 15s) << "less than one patience for each";
  EXPECT_GT(cache_.counters().errors(), 0u);
  EXPECT_EQ(cache_.counters()[Counter::reopened], 0u);
  fs::remove(directory_);
  expect_noticed_at_a_put();
}

TEST_F(F19, LockAndFlightsAreDeletedAllTheWhile) {
  const auto results = test::run_processes(5, [&](int number) {
    Cache cache = Cache::open(directory_).value();
    const test::Stopwatch watch;
    for (int n = 0; watch.passed() < 1500ms; ++n) {
      if (number == 0) {
        fs::remove(at("kernels.v1.lock"));
        fs::remove(at("kernels.v1.flights"));
        continue;
      }
      const auto turn = cache.take_turn(digest_of("x"), 100ms);
      if (!serves(cache, make_sample(number * 1000 + n))) return 1;
    }
    return cache.counters().errors() == 0 ? 0 : 2;
  });
  EXPECT_EQ(results, std::vector<int>(5, 0));
  test::expect_in_order(directory_);
}

TEST_F(F19, TheJournalIsDeletedAllTheWhile) {
  std::vector<int> results = test::run_processes(3, [&](int number) {
    Cache cache = Cache::open(directory_).value();
    const test::Stopwatch watch;
    for (int n = 0; watch.passed() < 1500ms; ++n) {
      if (number == 0) {
        fs::remove(at("kernels.v1.db-journal"));
        test::nap(200us);
        continue;
      }
      // A put may fail; what is served is right.
      const auto sample = make_sample(number * 1000 + n, 20'000);
      const bool put = cache.put(sample.entry()).has_value();
      const Look found = look(cache, sample);
      if (found == Look::wrong || (put && found == Look::miss)) return 1;
    }
    return 0;
  });
  EXPECT_EQ(results, std::vector<int>(3, 0));
  test::expect_in_order(directory_);
}

}  // namespace
}  // namespace kiln
