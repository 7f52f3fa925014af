// F12: a process forks while its cache is in use.

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
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

/// Threads that use the cache all the time, each in its own way, until this object ends.
class Busy {
 public:
  Busy(Cache& cache, int putters, int finders) {
    for (int i = 0; i < putters; ++i) {
      threads_.emplace_back([this, &cache, i] {
        for (int n = 0; !stop_; ++n)
          failed_ += !cache.put(make_sample(100 + n % 50 + 50 * i).entry());
      });
    }
    for (int i = 0; i < finders; ++i) {
      threads_.emplace_back([this, &cache] {
        const auto sample = make_sample(1, 50'000);
        while (!stop_) failed_ += look(cache, sample) != Look::hit;
      });
    }
  }
  ~Busy() { end(); }

  /// How many calls failed.
  int end() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    return failed_;
  }

 private:
  std::atomic<bool> stop_ = false;
  std::atomic<int> failed_ = 0;
  std::vector<std::thread> threads_;
};

class F12 : public ::testing::Test {
 protected:
  F12() { EXPECT_TRUE(cache_.put(make_sample(1, 50'000).entry())); }

  /// Finds what the parent put and puts something itself, with the object it inherited.
  int use_inherited(int number) {
    const Look found = look(cache_, make_sample(1, 50'000));
    if (found != Look::hit) return found == Look::wrong ? 1 : 2;
    const auto served = serves(cache_, make_sample(10'000 + number));
    if (!served) std::cerr << served.message() << '\n';
    return !served ? 3 : cache_.counters().errors() != 0 ? 4 : 0;
  }

  void expect_intact(const std::vector<int>& children) {
    for (const int number : children) {
      EXPECT_EQ(look(cache_, make_sample(10'000 + number)), Look::hit) << number;
    }
    EXPECT_EQ(cache_.counters().errors(), 0u);
    EXPECT_EQ(cache_.file().filename(), "kernels.v1.db");
    test::expect_in_order(folder_.path());
  }

  /// Forks again and again beside busy threads; `work(n)` is the child's.
  void fork_beside(int putters, int finders, const std::function<int(int)>& work) {
    Busy busy(cache_, putters, finders);
    std::vector<int> numbers;
    for (int n = 0; n < test::sized(60, 600); ++n) {
      test::nap(std::chrono::microseconds(n * 37 % 3000));
      Child child([&] { return work(n); });
      ASSERT_EQ(child.result(20s), 0) << "child " << n;
      numbers.push_back(n);
    }
    EXPECT_EQ(busy.end(), 0);
    expect_intact(numbers);
  }

  test::TemporaryFolder folder_;
  Cache cache_ = Cache::open(folder_.path()).value();
};

TEST_F(F12, InsideAnotherThreadsTransaction) {
  fork_beside(2, 0, [&](int n) { return use_inherited(n); });
}

TEST_F(F12, InsideAnotherThreadsLookUp) {
  fork_beside(0, 4, [&](int n) { return use_inherited(n); });
}

TEST_F(F12, ByThreadsThatPutAndFind) {
  fork_beside(1, 2, [&](int n) { return use_inherited(n); });
}

TEST_F(F12, TheChildEndsWithExit) {
  fork_beside(1, 1, [&](int n) {
    const int result = use_inherited(n);
    // What is open to be flushed is the parent's.
    ::close(STDOUT_FILENO);
    ::exit(result);
    return 1;
  });
}

TEST_F(F12, TheChildDestroysTheInheritedCache) {
  fork_beside(1, 1, [&](int n) {
    const int result = use_inherited(n);
    Cache(std::move(cache_));
    return result;
  });
}

TEST_F(F12, TheChildDestroysTheInheritedCacheUnused) {
  fork_beside(1, 1, [&](int n) {
    Cache(std::move(cache_));
    cache_ = Cache::open(folder_.path()).value();
    return use_inherited(n);
  });
}

TEST_F(F12, TheChildExecutesAnotherProgram) {
  Busy busy(cache_, 1, 1);
  for (int n = 0; n < test::sized(40, 400); ++n) {
    Child child([] { return ::execl("/bin/true", "true", nullptr); });
    ASSERT_EQ(child.result(20s), 0);
  }
  EXPECT_EQ(busy.end(), 0);
  expect_intact({});
}

TEST_F(F12, AProgramThatIsExecutedInheritsNoDescriptor) {
  const Turn turn = cache_.take_turn(digest_of("x"), 1s);
  Child child([&] {
    const auto command = "! ls -l /proc/self/fd | grep -q " + folder_.path().string();
    return ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  });
  EXPECT_EQ(child.result(20s), 0);
}

TEST_F(F12, AChildOfAChildOfAChild) {
  Busy busy(cache_, 1, 1);
  Child child([&] {
    if (use_inherited(1) != 0) return 1;
    Child grandchild([&] {
      if (use_inherited(2) != 0) return 1;
      Child last([&] { return use_inherited(3); });
      return last.result().value_or(9);
    });
    return grandchild.result().value_or(8);
  });
  EXPECT_EQ(child.result(), 0);
  EXPECT_EQ(busy.end(), 0);
  expect_intact({1, 2, 3});
}

TEST_F(F12, ThreadsOfTheChildUseTheInheritedCacheAtOnce) {
  fork_beside(1, 1, [&](int n) {
    std::atomic<int> failed = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&] { failed += use_inherited(n) != 0; });
    for (std::thread& thread : threads) thread.join();
    return failed.load();
  });
}

TEST_F(F12, TheParentKeepsItsTurnWhateverTheChildDoes) {
  const auto key = digest_of("x");
  std::optional<Turn> turn(cache_.take_turn(key, 1s));
  Child child([&] {
    if (cache_.take_turn(key, 50ms).exclusive()) return 1;
    turn.reset();
    return cache_.take_turn(key, 50ms).exclusive() ? 2 : use_inherited(1);
  });
  EXPECT_EQ(child.result(), 0);
  Child other([&] { return cache_.take_turn(key, 50ms).exclusive() ? 1 : 0; });
  EXPECT_EQ(other.result(), 0);
  turn.reset();
  EXPECT_TRUE(cache_.take_turn(key, 50ms).exclusive());
  expect_intact({1});
}

TEST_F(F12, AChildDoesNotTellOfAFailureInItsParentsPlace) {
  Turn turn = cache_.take_turn(digest_of("x"), 1s);
  const auto victim = folder_.path() / "victim";
  Child child([&] {
    // Takes the number of the descriptor that the turn had.
    for (int i = 0; i < 20; ++i) static_cast<void>(::open(victim.c_str(), O_RDWR | O_CREAT, 0600));
    turn.fail({ErrorCode::compile_failed, "no", "", 0});
    return 0;
  });
  EXPECT_EQ(child.result(), 0);
  EXPECT_EQ(std::filesystem::file_size(victim), 0u);
}

}  // namespace
}  // namespace kiln
