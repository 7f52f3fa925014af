#include "remote/asking_time.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "remote/asking_account.h"
#include "remote/late_answers.h"
#include "remote/remote_protocol.h"

namespace kiln::test {
namespace {

using namespace std::chrono_literals;

TEST(AskingTimes, IsSpentForEachStoreAlone) {
  AskingAccount one;
  AskingAccount other;
  AskingTime time;
  const auto spend = [&](std::chrono::milliseconds waited) {
    const AskingTime::Spending spending(time, one);
    std::this_thread::sleep_for(waited);
  };
  EXPECT_EQ(time.left(one), 250ms);
  spend(260ms);
  EXPECT_LE(time.left(one), 240ms) << "of half a second in all";
  EXPECT_EQ(time.left(other), 250ms);
  spend(260ms);
  EXPECT_EQ(time.left(one), 0ms);
  time.renew();
  EXPECT_EQ(time.left(one), 250ms);
}

TEST(AskingTimes, IsNoneForAStoreThatDoesNotPay) {
  AskingAccount store;
  store.earn_compiled(1s);
  store.spend(800ms);
  AskingTime time;
  EXPECT_EQ(time.left(store), 0ms);
  AskingTime of_who_may_not_compile;
  of_who_may_not_compile.insist();
  EXPECT_EQ(of_who_may_not_compile.left(store), 250ms);
  time.renew();
  EXPECT_EQ(time.left(store), 250ms) << "others make it meanwhile";
  {
    const AskingTime::Spending spending(time, store);
    std::this_thread::sleep_for(1ms);
  }
  store.earn_spared(50ms);
  EXPECT_TRUE(store.pays()) << "to wait for others is on nobody's account";
}

TEST(LateAnswersTest, EndAWaitOnlyWhereTwoComeInARow) {
  using remote::LeaseState;
  LateAnswers answers;
  EXPECT_EQ(answers.judge(LeaseState::late, false), LeaseState::unavailable) << "nobody waits yet";
  EXPECT_EQ(answers.judge(LeaseState::held, true), LeaseState::held);
  EXPECT_EQ(answers.judge(LeaseState::late, true), LeaseState::held);
  EXPECT_EQ(answers.judge(LeaseState::taken, true), LeaseState::taken);
  EXPECT_EQ(answers.judge(LeaseState::late, true), LeaseState::held);
  EXPECT_EQ(answers.judge(LeaseState::late, true), LeaseState::unavailable);
}

TEST(AskingAccounts, PayForASecondAndForAQuarterOfWhatIsCompiled) {
  AskingAccount store;
  store.spend(1s);
  EXPECT_TRUE(store.pays()) << "nothing is compiled in its place";
  store.earn_compiled(0ms);
  EXPECT_FALSE(store.pays());
  store.earn_compiled(996ms);
  EXPECT_FALSE(store.pays()) << "for no whole answer";
  store.earn_compiled(4ms);
  EXPECT_TRUE(store.pays());
}

TEST(AskingAccounts, OweNoMoreThanASecondBeforeTheFirstCompile) {
  AskingAccount store;
  store.spend(1h);
  store.earn_compiled(4s);
  EXPECT_FALSE(store.pays());
  store.earn_compiled(1s);
  EXPECT_TRUE(store.pays());
  // Of many threads, say, that asked at one time.
  store.spend(10s);
  store.earn_compiled(39s);
  EXPECT_FALSE(store.pays());
  store.earn_compiled(1s);
  EXPECT_TRUE(store.pays());
}

TEST(AskingAccounts, PayForAllThatIsSparedAndSaveNoMoreThanASecond) {
  AskingAccount store;
  store.earn_compiled(1s);
  store.spend(1s);
  store.earn_spared(250ms);
  EXPECT_TRUE(store.pays());
  store.earn_spared(1h);
  store.spend(751ms);
  EXPECT_FALSE(store.pays());
}

}  // namespace
}  // namespace kiln::test
