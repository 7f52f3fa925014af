#include "compile/worker/worker_queue.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <iterator>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace kiln::test {
namespace {

using namespace std::chrono_literals;

const Digest none;
const Digest first_group = digest_of("first");
const Digest second_group = digest_of("second");

// Takes a place for each, one after another, and gives it back at once.
std::size_t visit(WorkerQueue& queue, const Digest& group) {
  const auto place = queue.take(group, {});
  queue.give_back(place.value());
  return place.value();
}

TEST(WorkerQueue, AGroupStaysWhereItIsKnown) {
  WorkerQueue queue(2);
  const auto first = visit(queue, first_group);
  const auto second = visit(queue, second_group);
  EXPECT_NE(first, second);
  EXPECT_EQ(visit(queue, first_group), first);
  EXPECT_EQ(visit(queue, second_group), second);
  EXPECT_EQ(visit(queue, first_group), first);
}

TEST(WorkerQueue, WhatSharesNothingStartsNoSecondWorker) {
  WorkerQueue queue(4);
  const auto place = visit(queue, none);
  EXPECT_EQ(visit(queue, none), place);
  EXPECT_EQ(visit(queue, none), place);
}

TEST(WorkerQueue, AFreshWorkerKnowsNothing) {
  WorkerQueue queue(2);
  const auto first = queue.take(first_group, {}).value();
  queue.forget(first);
  queue.give_back(first);
  const auto second = visit(queue, second_group);
  EXPECT_EQ(visit(queue, first_group), 1 - second);
}

TEST(WorkerQueue, AGroupGoesElsewhereRatherThanWait) {
  WorkerQueue queue(2);
  const auto home = queue.take(first_group, {}).value();
  const auto other = queue.take(first_group, {}).value();
  EXPECT_NE(home, other);
}

// Whether a thread of this process sleeps, as it does in the queue.
bool sleeps(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  return stat.find(") S ") != std::string::npos;
}

// Those who wait while one place is taken, and who are served in an order.
class Line {
 public:
  explicit Line(const std::vector<Digest>& groups) {
    held_ = queue_.take(first_group, {}).value();
    for (const auto& group : groups) {
      std::atomic<pid_t> waiting = 0;
      threads_.emplace_back([this, &group, &waiting] {
        waiting = ::gettid();
        const auto place = queue_.take(group, {}).value();
        {
          const std::lock_guard lock(mutex_);
          served_.push_back(group);
        }
        queue_.give_back(place);
      });
      // So that they stand in the order in which they are given.
      while (waiting == 0 || !sleeps(waiting)) std::this_thread::sleep_for(1ms);
    }
  }

  std::vector<Digest> serve() {
    queue_.give_back(held_);
    for (auto& thread : threads_) thread.join();
    return served_;
  }

 private:
  WorkerQueue queue_{1};
  std::size_t held_;
  std::mutex mutex_;
  std::vector<Digest> served_;
  std::vector<std::thread> threads_;
};

TEST(WorkerQueue, APlaceTakesItsOwnGroupFirst) {
  const std::vector<Digest> waiting{second_group, first_group, second_group, first_group};
  const std::vector<Digest> expected{first_group, first_group, second_group, second_group};
  EXPECT_EQ(Line(waiting).serve(), expected);
}

TEST(WorkerQueue, NobodyIsPassedOverForEver) {
  std::vector<Digest> waiting(50, first_group);
  waiting.insert(waiting.begin(), second_group);
  const auto served = Line(waiting).serve();
  ASSERT_EQ(served.size(), 51U);
  EXPECT_NE(served.back(), second_group);
}

TEST(WorkerQueue, WhoIsStoppedLeavesTheLine) {
  WorkerQueue queue(1);
  const auto place = queue.take(none, {}).value();
  std::stop_source stop;
  auto waiting = std::async(std::launch::async, [&] { return queue.take(none, stop.get_token()); });
  stop.request_stop();
  EXPECT_FALSE(waiting.get());
  queue.give_back(place);
  EXPECT_TRUE(queue.take(none, {}));
}

TEST(WorkerQueue, NoMoreAtOnceThanThereArePlaces) {
  constexpr int places = 3;
  WorkerQueue queue(places);
  std::atomic<int> busy = 0;
  std::atomic<int> most = 0;
  std::vector<std::thread> threads;
  for (int number = 0; number < 16; ++number) {
    threads.emplace_back([&, number] {
      for (int turn = 0; turn < 200; ++turn) {
        const auto place = queue.take(digest_of(std::to_string((number + turn) % 5)), {}).value();
        const int now = ++busy;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        --busy;
        queue.give_back(place);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_LE(most, places);
}

}  // namespace
}  // namespace kiln::test
