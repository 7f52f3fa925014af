// A process ends by exit() while other threads use its caches.

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "kiln/cache.h"
#include "processes.h"

namespace kiln {
namespace {

using test::make_sample;

/// Whether a process that exits has threads at work.
std::atomic<bool> is_beside_work = false;

void nap_beside_work() {
  if (is_beside_work) test::nap(std::chrono::milliseconds(20));
}

// What was set up first is undone last: after all that a cache, or what it is built on, sets up at its first use.
[[maybe_unused]] const int last_nap = std::atexit(nap_beside_work);

/// Exits with 7, its threads at work before, amid and after what exit() destroys.
[[noreturn]] void exit_beside(const std::function<void()>& work) {
  is_beside_work = true;
  std::atexit(nap_beside_work);
  std::thread([&] {
    for (;;) work();
  }).detach();
  test::nap(std::chrono::milliseconds(20));
  std::exit(7);  // NOLINT(concurrency-mt-unsafe): with all that it undoes.
}

class Exit : public ::testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    for (int number = 0; number < 20; ++number) {
      ASSERT_TRUE(cache_->put(make_sample(number).entry()));
    }
  }

  test::TemporaryFolder folder_;
  // Not what is asked about here: the threads use it to the last.
  Cache* cache_ = new Cache(Cache::open(folder_.path()).value());
};

TEST_F(Exit, BesideVerifying) {
  EXPECT_EXIT(exit_beside([&] {
                if (!cache_->verify(true).value().findings.empty()) std::_Exit(1);
              }),
              ::testing::ExitedWithCode(7), "");
}

TEST_F(Exit, BesideOpeningAndFinding) {
  EXPECT_EXIT(exit_beside([&] {
                auto cache = Cache::open(folder_.path());
                if (!cache || look(*cache, make_sample(1)) != test::Look::hit) std::_Exit(1);
              }),
              ::testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace kiln
