// F9: turns among processes. F10: many processes ask for the same kernels at once.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
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

class F9 : public ::testing::Test {
 protected:
  static constexpr int processes = 64;

  /// Looks, takes the turn, looks again, and else "compiles". What a process came to is a mark:
  /// 'c' compiled, 'h' served, 's' shared a failure.
  int ask(int number, std::chrono::milliseconds compile, bool fails = false) const {
    Cache cache = Cache::open(folder_.path()).value();
    const auto sample = make_sample(number);
    if (look(cache, sample) == Look::hit) return leave('h');
    Turn turn = cache.take_turn(key_, 20s);
    if (!turn.exclusive()) return 1;
    if (turn.waited() && look(cache, sample) == Look::hit) return leave('h');
    if (turn.shared_failure()) {
      return turn.shared_failure()->log == log_ ? leave('s') : 2;
    }
    leave('c');
    test::nap(compile);
    if (fails) {
      turn.fail({ErrorCode::compile_failed, "it does not compile", log_, 6});
    } else if (!cache.put(sample.entry())) {
      return 3;
    }
    return 0;
  }

  /// Takes the turn, marks 'r' and keeps it, and nothing else ever.
  Child holder(char mark = 'r') const {
    return Child([this, mark] {
      Cache cache = Cache::open(folder_.path()).value();
      const Turn turn = cache.take_turn(key_, 20s);
      if (turn.exclusive()) leave(mark);
      ::pause();
      return 0;
    });
  }

  int leave(char mark) const {
    marks_.leave(mark);
    return 0;
  }

  test::TemporaryFolder folder_;
  test::Marks marks_{folder_.path() / "marks"};
  const Digest key_ = digest_of("what is compiled");
  const std::string log_ = std::string(100, 'x') + " error: no";
};

TEST_F(F9, OneCompilesAndAllAreServed) {
  const auto results = test::run_processes(processes, [&](int) { return ask(1, 200ms); });
  EXPECT_EQ(results, std::vector<int>(processes, 0));
  EXPECT_EQ(marks_.count('c'), 1);
  EXPECT_EQ(marks_.count('h'), processes - 1);
}

// The first one began before the others asked, and they may have something newer; the next one did not.
TEST_F(F9, AFailureIsSharedByAllWhoWaitedWhenItBeganAndNobodyLater) {
  // Long enough for all to begin waiting; a process that comes later compiles for itself.
  const auto results = test::run_processes(processes, [&](int) { return ask(1, 1500ms, true); });
  EXPECT_EQ(results, std::vector<int>(processes, 0));
  EXPECT_EQ(marks_.count('c'), 2);
  EXPECT_EQ(marks_.count('s'), processes - 2);
  const auto later = test::run_processes(1, [&](int) { return ask(1, 1ms, true); });
  EXPECT_EQ(later, std::vector<int>(1, 0));
  EXPECT_EQ(marks_.count('c'), 3);
}

TEST_F(F9, ANewFailureOfTheSameKindIsSharedAsWell) {
  for (int round = 1; round <= 2; ++round) {
    const auto results = test::run_processes(4, [&](int) { return ask(1, 300ms, true); });
    EXPECT_EQ(results, std::vector<int>(4, 0));
    EXPECT_EQ(marks_.count('c'), 2 * round);
    EXPECT_EQ(marks_.count('s'), 2 * round);
  }
}

TEST_F(F9, TheNextTakesOverAtOnceFromAHolderThatIsKilled) {
  const Child dying = holder();
  ASSERT_TRUE(marks_.wait_for('r', 1));
  Child waiting([&] { return ask(1, 1ms); });
  test::nap(100ms);
  ASSERT_EQ(marks_.count('c'), 0);
  const test::Stopwatch watch;
  dying.signal(SIGKILL);
  EXPECT_TRUE(marks_.wait_for('c', 1));
  EXPECT_LT(watch.passed(), 5s) << "far less than the patience";
  EXPECT_EQ(waiting.result(), 0);
}

TEST_F(F9, OneTakesOverFromAHolderThatIsStopped) {
  const Child stopped = holder();
  ASSERT_TRUE(marks_.wait_for('r', 1));
  stopped.signal(SIGSTOP);
  const test::Stopwatch watch;
  std::vector<Child> waiting;
  for (int i = 0; i < 8; ++i) waiting.emplace_back([&] { return ask(1, 200ms); });
  EXPECT_TRUE(marks_.wait_for('c', 1));
  EXPECT_LT(watch.passed(), 8s) << "far less than the patience";
  for (Child& child : waiting) EXPECT_EQ(child.result(), 0);
  EXPECT_EQ(marks_.count('c'), 1);
  EXPECT_EQ(marks_.count('h'), 7);
}

TEST_F(F9, TheNextTakesOverFromTwoThatAreStopped) {
  const Child first = holder();
  ASSERT_TRUE(marks_.wait_for('r', 1));
  first.signal(SIGSTOP);
  const Child second = holder('q');
  ASSERT_TRUE(marks_.wait_for('q', 1));
  second.signal(SIGSTOP);
  const test::Stopwatch watch;
  Child waiting([&] { return ask(1, 1ms); });
  EXPECT_TRUE(marks_.wait_for('c', 1));
  EXPECT_LT(watch.passed(), 8s) << "far less than the patience";
  EXPECT_EQ(waiting.result(), 0);
}

TEST_F(F9, WhoLosesPatienceGoesOnWithoutTheTurn) {
  const Child endless = holder();
  ASSERT_TRUE(marks_.wait_for('r', 1));
  Cache cache = Cache::open(folder_.path()).value();
  const test::Stopwatch watch;
  const Turn turn = cache.take_turn(key_, 300ms);
  EXPECT_GE(watch.passed(), 300ms);
  EXPECT_LT(watch.passed(), 8s);
  EXPECT_FALSE(turn.exclusive());
  EXPECT_TRUE(turn.waited());
  EXPECT_FALSE(turn.shared_failure());
}

TEST_F(F9, OtherKeysAreNeverBlocked) {
  const Child endless = holder();
  ASSERT_TRUE(marks_.wait_for('r', 1));
  Cache cache = Cache::open(folder_.path()).value();
  const test::Stopwatch watch;
  std::vector<Turn> turns;
  for (int i = 0; i < 500; ++i) {
    turns.push_back(cache.take_turn(digest_of("another " + std::to_string(i)), 20s));
    EXPECT_TRUE(turns.back().exclusive());
    EXPECT_FALSE(turns.back().waited());
  }
  EXPECT_LT(watch.passed(), 15s) << "one that waited would wait for 20";
}

TEST_F(F9, ThreadsOfOneProcessTakeTurnsToo) {
  Cache cache = Cache::open(folder_.path()).value();
  std::optional<Turn> turn(cache.take_turn(key_, 1s));
  EXPECT_TRUE(turn->exclusive());
  EXPECT_FALSE(cache.take_turn(key_, 20ms).exclusive());
  turn.reset();
  EXPECT_TRUE(cache.take_turn(key_, 1s).exclusive());
}

TEST_F(F9, AForkedChildKeepsNoTurnOfAParentThatDies) {
  Child parent([&] {
    Cache cache = Cache::open(folder_.path()).value();
    const Turn turn = cache.take_turn(key_, 20s);
    const Child child([&] {
      ::alarm(5);
      leave('f');
      return ::pause();
    });
    return ::pause();
  });
  ASSERT_TRUE(marks_.wait_for('f', 1));
  parent.signal(SIGKILL);
  EXPECT_EQ(parent.result(), -SIGKILL);
  Cache cache = Cache::open(folder_.path()).value();
  const test::Stopwatch watch;
  EXPECT_TRUE(cache.take_turn(key_, 5s).exclusive());
  EXPECT_LT(watch.passed(), 4s) << "the child lives for five";
}

TEST_F(F9, AChildMadeBesideForkDoesNotKeepATurnThatEnded) {
  Cache cache = Cache::open(folder_.path()).value();
  std::optional<Turn> turn(cache.take_turn(key_, 1s));
  // _Fork() runs no handlers, as a system call of one's own would not.
  const pid_t child = ::_Fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  turn.reset();
  EXPECT_TRUE(cache.take_turn(key_, 300ms).exclusive());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(F10, EightProcessesCompileThirtyTwoKeysOnceEach) {
  constexpr int processes = 8;
  constexpr int keys = 32;
  const test::TemporaryFolder folder;
  const test::Marks marks(folder.path() / "marks");
  const auto results = test::run_processes(processes, [&](int process) {
    Cache cache = Cache::open(folder.path()).value();
    std::vector<int> order(keys);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(process)));
    for (const int number : order) {
      const auto sample = make_sample(number, 5000);
      if (look(cache, sample) == Look::hit) continue;
      const Turn turn = cache.take_turn(digest_of(sample.request.material()), 20s);
      if (!turn.exclusive()) return 1;
      // Also without having waited: the turn may have ended between the look and the asking.
      if (look(cache, sample) == Look::hit) continue;
      marks.leave('c');
      test::nap(5ms);
      if (!cache.put(sample.entry())) return 2;
    }
    for (int number = 0; number < keys; ++number) {
      if (look(cache, make_sample(number, 5000)) != Look::hit) return 3;
    }
    return 0;
  });
  EXPECT_EQ(results, std::vector<int>(processes, 0));
  EXPECT_EQ(marks.count('c'), keys);
}

}  // namespace
}  // namespace kiln
