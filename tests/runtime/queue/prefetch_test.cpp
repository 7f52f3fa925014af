#include "queue/prefetch.h"

#include <functional>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async_fixture.h"
#include "queue/compiling_state.h"

namespace kiln::test {
namespace {

using ::testing::ElementsAre;

class Prefetching : public AsyncFixture {
 protected:
  static PrefetchItem item(const std::string& name, const std::string& prelude = "",
                           const std::string& arch = "sm_80") {
    return {
        Program::make({.name = name, .source = prelude + "__global__ void k(int* x) { *x = 1; }"})
            .value(),
        Target::parse(arch).value()};
  }

  /// What so many workers begin with, before any of it is done; `least` are waited for.
  static std::vector<std::string> begun_at_once(const std::vector<PrefetchItem>& items,
                                                std::size_t workers, std::size_t least) {
    std::vector<std::string> begun;
    std::promise<void> enough;
    std::stop_source stop;
    const BeginItem begin = [&](const PrefetchItem& what, PrefetchNews news) {
      begun.push_back(what.program.name());
      if (begun.size() == least) enough.set_value();
      return Compiling(std::make_shared<Compiling::State>(std::move(news.when_ready)));
    };
    const auto stopping = std::async(std::launch::async, [&] {
      enough.get_future().wait();
      std::this_thread::sleep_for(20ms);  // For one more that there should not be.
      stop.request_stop();
    });
    (void)prefetch_all(items, workers, begin, {}, stop.get_token());
    return begun;
  }
};

TEST_F(Prefetching, WhatBeginsAlikeForOneTargetIsNeighbours) {
  const std::vector<PrefetchItem> items{
      item("0", "#define A 1\n"),          item("1"),
      item("2", "#define A 1\n"),          item("3", "#define A 2\n"),
      item("4", "#define A 1\n", "sm_90"), item("5"),
      item("6", "#define A 1\n"),
  };
  EXPECT_THAT(in_groups(items), ElementsAre(0, 2, 6, 1, 5, 3, 4));
  auto runtime = open();
  EXPECT_EQ(runtime.prefetch(items).compiled, 7U);
  EXPECT_THAT(gate_.begun(), ElementsAre("0", "2", "6", "1", "5", "3", "4"));
}

TEST_F(Prefetching, WhatSharesNothingIsBegunAsItStands) {
  std::vector<PrefetchItem> items;
  for (int index = 0; index < 12; ++index) items.push_back(item(std::to_string(index)));
  auto runtime = open();
  std::vector<std::string> begun;
  const BeginItem begin = [&](const PrefetchItem& what, const PrefetchNews& news) {
    begun.push_back(what.program.name());
    news.when_ready();
    return runtime.compile_async(what.program, what.target);
  };
  const auto warm = runtime.prefetch(items);
  ASSERT_EQ(warm.compiled, 12U);
  const auto report = prefetch_all(items, 3, begin, {}, {});
  EXPECT_EQ(report.hits, 12U);
  EXPECT_THAT(begun, ElementsAre("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"));
}

TEST_F(Prefetching, AWorkersNextItemIsBegunWhenTheLastHasLeftTheCompiler) {
  std::vector<PrefetchItem> items;
  for (int index = 0; index < 4; ++index) items.push_back(item(std::to_string(index)));
  std::vector<std::string> begun;
  std::vector<std::shared_ptr<Compiling::State>> under_way;
  const BeginItem begin = [&](const PrefetchItem& what, const PrefetchNews& news) {
    begun.push_back(what.program.name());
    under_way.push_back(std::make_shared<Compiling::State>(news.when_ready));
    news.when_compiled();
    if (begun.size() == items.size()) {
      for (const auto& state : under_way) state->complete(fail(ErrorCode::compile_failed, ""));
    }
    return Compiling(under_way.back());
  };
  const auto report = prefetch_all(items, 1, begin, {}, {});
  EXPECT_THAT(begun, ElementsAre("0", "1", "2", "3"));
  EXPECT_EQ(report.failures.size(), 4U);
}

TEST_F(Prefetching, NoPreludeIsGivenToTwoWorkersButALongOne) {
  const auto items_of = [](std::size_t of_a, std::size_t of_b) {
    std::vector<PrefetchItem> items;
    for (std::size_t index = 0; index < of_a + of_b; ++index)
      items.push_back(item(std::to_string(index), index < of_a ? "#define A\n" : "#define B\n"));
    return items;
  };
  EXPECT_THAT(begun_at_once(items_of(5, 4), 2, 2), ElementsAre("0", "5"));
  EXPECT_THAT(begun_at_once(items_of(30, 4), 2, 2), ElementsAre("0", "30"));
  // The second worker takes what it has done as soon as the first has what it keeps.
  EXPECT_THAT(begun_at_once(items_of(30, 0), 2, 2), ElementsAre("0", "19"));
  EXPECT_THAT(begun_at_once(items_of(30, 4), 3, 3), ElementsAre("0", "30", "19"));
  // Of short ones nothing is taken: they are done sooner by those who have their headers.
  EXPECT_THAT(begun_at_once(items_of(5, 4), 3, 2), ElementsAre("0", "5"));
}

TEST_F(Prefetching, TellsOfEachAndOfFailuresInTheirOrder) {
  auto runtime = open();
  ASSERT_TRUE(runtime.compile(item("known").program, target()));
  const auto broken = Program::make({.name = "broken", .source = "no"}).value();
  const std::vector<PrefetchItem> items{
      {broken, target()}, item("a"), {plain("a"), Target::parse("sm_20").value()}, item("b")};
  std::size_t done = 0;
  std::vector<bool> seen(items.size());
  const auto report = runtime.prefetch(items, [&](const PrefetchStep& step) {
    EXPECT_EQ(step.done, ++done);
    EXPECT_EQ(step.total, items.size());
    EXPECT_FALSE(seen[step.index]);
    seen[step.index] = true;
    EXPECT_EQ(step.outcome.has_value(), step.index % 2 == 1);
  });
  EXPECT_EQ(done, items.size());
  EXPECT_EQ(report.compiled, 2U);
  ASSERT_EQ(report.failures.size(), 2U);
  EXPECT_EQ(report.failures[0].index, 0U);
  EXPECT_EQ(report.failures[0].error.code, ErrorCode::compile_failed);
  EXPECT_EQ(report.failures[1].index, 2U);
  EXPECT_EQ(report.failures[1].error.code, ErrorCode::unknown_arch);
  EXPECT_EQ(runtime.prefetch({items[1], items[3]}).hits, 2U);
}

TEST_F(Prefetching, StopsAtOnceAndNamesWhatIsNotDone) {
  auto runtime = open();
  std::stop_source stop;
  const std::vector<PrefetchItem> items{
      item("a"), {long_optimiser(), target()}, item("b", "#define B\n"), item("c", "#define B\n")};
  std::chrono::steady_clock::time_point stopped;
  std::thread other([&] {
    EXPECT_TRUE(gate_.wait_for_begun(2));
    std::this_thread::sleep_for(300ms);
    stopped = std::chrono::steady_clock::now();
    stop.request_stop();
  });
  std::size_t told = 0;
  const auto report = runtime.prefetch(
      items, [&](const PrefetchStep&) { ++told; }, stop.get_token());
  const auto end = std::chrono::steady_clock::now();
  other.join();
  EXPECT_LT(end - stopped, soon);
  EXPECT_EQ(told, items.size());
  EXPECT_EQ(report.compiled, 1U);
  EXPECT_EQ(report.failures.size(), 3U);
  for (const auto& failure : report.failures) EXPECT_EQ(failure.error.code, ErrorCode::cancelled);
}

TEST_F(Prefetching, IsBehindWhatSomebodyWaitsFor) {
  auto runtime = open();
  gate_.hold("0");
  std::vector<PrefetchItem> items;
  for (int index = 0; index < 4; ++index) items.push_back(item(std::to_string(index)));
  std::thread prefetching([&] { EXPECT_EQ(runtime.prefetch(items).compiled, 4U); });
  ASSERT_TRUE(gate_.wait_for_begun(1));
  std::this_thread::sleep_for(50ms);
  const auto urgent = runtime.compile_async(plain("urgent"), target(), {.priority = -5});
  gate_.open();
  EXPECT_TRUE(urgent.get());
  prefetching.join();
  EXPECT_THAT(gate_.begun(), ElementsAre("0", "urgent", "1", "2", "3"));
}

TEST_F(Prefetching, NothingIsDoneAtOnce) {
  const auto report = open().prefetch({});
  EXPECT_EQ(report.hits + report.compiled + report.failures.size(), 0U);
}

}  // namespace
}  // namespace kiln::test
