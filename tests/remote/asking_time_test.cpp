#include "remote/asking_time.h"

#include <chrono>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "base/reporter.h"
#include "kiln/settings.h"
#include "remote/remote_address.h"
#include "remote/remote_layer.h"

namespace kiln::test {
namespace {

using namespace std::chrono_literals;

class AskingTimes : public ::testing::Test {
 protected:
  void spend(std::chrono::milliseconds time) {
    const AskingTime::Spending spending(time_, one_);
    std::this_thread::sleep_for(time);
  }

  const Settings settings_{};
  const Reporter reporter_{LogLevel::warn, nullptr, nullptr};
  kiln::RemoteLayer one_{parse_remote("redis://127.0.0.1:1?timeout=1778").value(), settings_,
                         reporter_};
  kiln::RemoteLayer other_{parse_remote("redis://127.0.0.1:2?timeout=1778").value(), settings_,
                           reporter_};
  AskingTime time_;
};

TEST_F(AskingTimes, IsSpentForEachStoreAlone) {
  EXPECT_EQ(time_.left(one_), 250ms);
  spend(260ms);
  EXPECT_LE(time_.left(one_), 240ms) << "of half a second in all";
  EXPECT_EQ(time_.left(other_), 250ms);
  spend(260ms);
  EXPECT_EQ(time_.left(one_), 0ms);
  time_.renew();
  EXPECT_EQ(time_.left(one_), 250ms);
}

TEST_F(AskingTimes, WhoHasNoneLeftAsksNobody) {
  spend(510ms);
  MissReason why = MissReason::none;
  EXPECT_FALSE(one_.find(
      {}, time_, false, [](const Candidate&) { return true; }, why));
  EXPECT_EQ(one_.lease({}, time_).state, remote::LeaseState::unavailable);
  EXPECT_EQ(one_.faults(), 0U);
  time_.renew();
  EXPECT_FALSE(one_.find(
      {}, time_, false, [](const Candidate&) { return true; }, why));
  EXPECT_EQ(one_.faults(), 1U) << "nobody is there";
}

}  // namespace
}  // namespace kiln::test
