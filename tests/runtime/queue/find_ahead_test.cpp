// What is there is found on several threads, and told of on the calling one.

#include "queue/find_ahead.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kiln::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<PrefetchItem> items(std::size_t count) {
  std::vector<PrefetchItem> all;
  for (std::size_t index = 0; index < count; ++index) {
    all.push_back({Program::make({.name = std::to_string(index), .source = "//"}).value(),
                   Target::parse("sm_80").value()});
  }
  return all;
}

ServedArtifact served(const PrefetchItem& item) {
  auto artifact = std::make_shared<Artifact>();
  artifact->program = item.program.name();
  return {artifact, Origin::local};
}

TEST(FindingAhead, FindsEachOnceAndTellsOnTheCallingThread) {
  std::atomic<int> asked = 0;
  std::set<std::size_t> told;
  const auto left = find_ahead(
      items(200), 4,
      [&](const PrefetchItem& item) {
        ++asked;
        return std::optional(served(item));
      },
      [&, caller = std::this_thread::get_id()](std::size_t index, const ServedArtifact& found) {
        EXPECT_EQ(std::this_thread::get_id(), caller);
        EXPECT_EQ(found.artifact->program, std::to_string(index));
        EXPECT_TRUE(told.insert(index).second);
      },
      {});
  EXPECT_THAT(left, IsEmpty());
  EXPECT_EQ(told.size(), 200U);
  EXPECT_EQ(asked, 200);
}

TEST(FindingAhead, UsesTheThreads) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<int> inside = 0;
  const auto left = find_ahead(
      items(64), 2,
      [&](const PrefetchItem& item) {
        {
          const std::lock_guard lock(mutex);
          threads.insert(std::this_thread::get_id());
        }
        ++inside;
        while (inside < 2) std::this_thread::yield();  // For ever, were there only one.
        return std::optional(served(item));
      },
      [](std::size_t, const ServedArtifact&) {}, {});
  EXPECT_THAT(left, IsEmpty());
  EXPECT_EQ(threads.size(), 2U);
}

TEST(FindingAhead, LeavesWhatIsNotThereAndWhatFailsInItsOrder) {
  int told = 0;
  const auto left = find_ahead(
      items(40), 3,
      [](const PrefetchItem& item) -> std::optional<ServedArtifact> {
        if (item.program.name() == "7") throw std::runtime_error("no");
        if (item.program.name().ends_with('3')) return std::nullopt;
        return served(item);
      },
      [&](std::size_t, const ServedArtifact&) { ++told; }, {});
  EXPECT_THAT(left, ElementsAre(3, 7, 13, 23, 33));
  EXPECT_EQ(told, 35);
}

TEST(FindingAhead, LeavesTheRestWhenStopped) {
  std::stop_source stop;
  const auto left = find_ahead(
      items(10), 1, [](const PrefetchItem& item) { return std::optional(served(item)); },
      [&](std::size_t index, const ServedArtifact&) {
        if (index == 5) stop.request_stop();
      },
      stop.get_token());
  EXPECT_THAT(left, ElementsAre(6, 7, 8, 9));
}

TEST(FindingAhead, EndsItsThreadsWhereTellingFails) {
  const auto find = [](const PrefetchItem& item) { return std::optional(served(item)); };
  const auto fail = [](std::size_t, const ServedArtifact&) { throw std::runtime_error("no"); };
  EXPECT_THROW((void)find_ahead(items(200), 4, find, fail, {}), std::runtime_error);
}

}  // namespace
}  // namespace kiln::test
