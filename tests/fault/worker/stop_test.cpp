// Stopping and timing out, whatever the compiler is doing.

#include <algorithm>
#include <chrono>
#include <future>
#include <stop_token>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "jobs.h"
#include "pool.h"

namespace kiln::test {
namespace {

using namespace std::chrono_literals;

using Clock = std::chrono::steady_clock;

constexpr auto promptly = 250ms;

struct Heavy {
  const char* name;
  CompileJob (*job)();
};

class Stopping : public ::testing::TestWithParam<Heavy> {};

// The best of three: what else the machine does is not what is measured.
template <class Measure>
Clock::duration best_of_three(Measure measure) {
  auto best = Clock::duration::max();
  for (int turn = 0; turn < 3 && best >= promptly; ++turn) best = std::min(best, measure());
  return best;
}

TEST_P(Stopping, ReturnsAtOnce) {
  Pool pool(1);
  const auto best = best_of_three([&]() -> Clock::duration {
    EXPECT_TRUE(pool.run(plain_job(1)));
    std::stop_source stop;
    auto outcome = std::async(std::launch::async,
                              [&] { return pool.run(GetParam().job(), stop.get_token()); });
    EXPECT_EQ(outcome.wait_for(800ms), std::future_status::timeout);
    const auto begin = Clock::now();
    stop.request_stop();
    const auto ended = outcome.get();
    const auto time = Clock::now() - begin;
    EXPECT_TRUE(!ended && ended.error().code == ErrorCode::cancelled);
    return time;
  });
  EXPECT_LT(best, promptly);
  EXPECT_TRUE(becomes_true([] { return children().empty(); })) << "a worker is left, or a zombie";
  EXPECT_TRUE(pool.run(plain_job(2)));
}

TEST_P(Stopping, TimesOut) {
  constexpr auto timeout = 1s;
  Pool pool(1, [&](WorkerPoolOptions& options) { options.timeout = timeout; });
  const auto best = best_of_three([&]() -> Clock::duration {
    EXPECT_TRUE(pool.run(plain_job(1)));
    const auto begin = Clock::now();
    const auto ended = pool.run(GetParam().job());
    const auto late = Clock::now() - begin - timeout;
    EXPECT_TRUE(!ended && ended.error().code == ErrorCode::timed_out);
    EXPECT_GE(late, 0s);
    return late;
  });
  EXPECT_LT(best, promptly);
}

INSTANTIATE_TEST_SUITE_P(WhileBusy, Stopping,
                         ::testing::Values(Heavy{"Preprocessor", spinning_job},
                                           Heavy{"FrontEnd", devouring_job},
                                           Heavy{"Optimiser", optimising_job}),
                         [](const auto& heavy) { return std::string(heavy.param.name); });

TEST(Stopping, WhoWaitsForAWorkerReturnsAtOnceToo) {
  Pool pool(1);
  std::stop_source first;
  std::stop_source second;
  auto busy =
      std::async(std::launch::async, [&] { return pool.run(spinning_job(), first.get_token()); });
  ASSERT_EQ(busy.wait_for(300ms), std::future_status::timeout);
  auto waiting =
      std::async(std::launch::async, [&] { return pool.run(plain_job(1), second.get_token()); });
  ASSERT_EQ(waiting.wait_for(200ms), std::future_status::timeout);
  const auto begin = Clock::now();
  second.request_stop();
  EXPECT_FALSE(waiting.get());
  EXPECT_LT(Clock::now() - begin, promptly);
  EXPECT_EQ(busy.wait_for(0ms), std::future_status::timeout) << "another's job was stopped";
  first.request_stop();
  EXPECT_FALSE(busy.get());
}

TEST(Stopping, BeforeItBeganStartsNothing) {
  Pool pool(1);
  std::stop_source stop;
  stop.request_stop();
  const auto ended = pool.run(plain_job(1), stop.get_token());
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::cancelled);
}

}  // namespace
}  // namespace kiln::test
