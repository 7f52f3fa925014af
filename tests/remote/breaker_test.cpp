#include "breaker.h"

#include <chrono>

#include <gtest/gtest.h>

namespace kiln::remote {
namespace {

using namespace std::chrono_literals;

class BreakerTest : public ::testing::Test {
 protected:
  void pass(std::chrono::milliseconds time) { now_ += time; }
  void fail(std::chrono::milliseconds cost = 0ms) { breaker_.fail(now_, cost); }
  /// Until it is open, from the start.
  void open() {
    for (int failure = 0; failure < Breaker::most_failures; ++failure) fail();
    ASSERT_TRUE(breaker_.is_open());
  }
  [[nodiscard]] auto rest() const { return breaker_.next_probe() - now_; }

  Breaker breaker_;
  Breaker::Time now_{1h};
};

TEST_F(BreakerTest, ThreeFailuresInARowOpenIt) {
  fail();
  fail();
  EXPECT_FALSE(breaker_.is_open());
  fail();
  EXPECT_TRUE(breaker_.is_open());
}

TEST_F(BreakerTest, ASuccessBetweenFailuresKeepsItClosed) {
  for (int round = 0; round < 10; ++round) {
    fail(100ms);
    fail(100ms);
    breaker_.succeed(now_);
  }
  EXPECT_FALSE(breaker_.is_open());
}

TEST_F(BreakerTest, FewFailuresOpenItOnceTheyHaveCostAQuarterOfASecond) {
  fail(249ms);
  EXPECT_FALSE(breaker_.is_open());
  fail(1ms);
  EXPECT_TRUE(breaker_.is_open());
}

TEST_F(BreakerTest, SilenceOpensItAQuarterOfASecondAfterTheFirstCall) {
  EXPECT_EQ(breaker_.silent_until(), Breaker::Time::max()) << "nobody waits";
  const auto began = now_;
  static_cast<void>(breaker_.begin(now_));
  pass(100ms);
  static_cast<void>(breaker_.begin(now_));
  EXPECT_EQ(breaker_.silent_until(), began + 250ms) << "the second waits no longer than the first";
  pass(149ms);
  breaker_.look(now_);
  EXPECT_FALSE(breaker_.is_open());
  pass(1ms);
  breaker_.look(now_);
  EXPECT_TRUE(breaker_.is_open());
}

TEST_F(BreakerTest, AServerThatAnswersSomeIsNotSilent) {
  const auto era = breaker_.begin(now_);
  EXPECT_EQ(breaker_.begin(now_), era);
  for (int answer = 0; answer < 5; ++answer) {
    pass(200ms);
    breaker_.look(now_);
    breaker_.succeed(now_);
  }
  EXPECT_FALSE(breaker_.is_open());
  EXPECT_EQ(breaker_.silent_until(), now_ + 250ms);
  breaker_.end(era);
  breaker_.end(era);
  EXPECT_EQ(breaker_.silent_until(), Breaker::Time::max());
}

TEST_F(BreakerTest, EachProbeThatFailsDoublesTheRestUpToFiveMinutes) {
  open();
  EXPECT_EQ(rest(), 5s);
  for (const auto expected : {10s, 20s, 40s, 80s, 160s, 300s, 300s}) {
    breaker_.probed(now_, false);
    EXPECT_TRUE(breaker_.is_open());
    EXPECT_EQ(rest(), expected);
  }
}

TEST_F(BreakerTest, AProbeThatSucceedsClosesItAndForgetsAll) {
  open();
  breaker_.probed(now_, false);
  breaker_.probed(now_, true);
  EXPECT_FALSE(breaker_.is_open());
  fail(100ms);
  fail(100ms);
  EXPECT_FALSE(breaker_.is_open()) << "what was before counts no more";
  fail();
  EXPECT_EQ(rest(), 5s);
}

TEST_F(BreakerTest, CallsThatHungBeforeItRecoveredCountNoMore) {
  const auto hung = breaker_.begin(now_);
  const auto slow = breaker_.begin(now_);
  open();
  breaker_.probed(now_, true);
  pass(1h);
  EXPECT_EQ(breaker_.silent_until(), Breaker::Time::max());
  const auto fresh = breaker_.begin(now_);
  EXPECT_EQ(breaker_.silent_until(), now_ + 250ms);
  breaker_.end(slow);
  breaker_.end(hung);
  EXPECT_EQ(breaker_.silent_until(), now_ + 250ms) << "the fresh one is still on its way";
  breaker_.end(fresh);
  EXPECT_EQ(breaker_.silent_until(), Breaker::Time::max());
}

TEST_F(BreakerTest, LateAnswersNeitherCloseNorProlongIt) {
  static_cast<void>(breaker_.begin(now_));
  pass(250ms);
  breaker_.look(now_);
  const auto probe = breaker_.next_probe();
  pass(1s);
  breaker_.succeed(now_);
  EXPECT_TRUE(breaker_.is_open()) << "an answer that nobody could wait for is no sign of health";
  for (int failure = 0; failure < 10; ++failure) fail(250ms);
  breaker_.look(now_);
  EXPECT_EQ(breaker_.next_probe(), probe);
}

}  // namespace
}  // namespace kiln::remote
