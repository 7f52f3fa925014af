// F13: two copies of the library, each with its own SQLite, in one process and on one cache. POSIX locks
// belong to the process: left to them, the copies would not see each other's.

#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/cache.h"
#include "processes.h"

namespace kiln {
namespace {

using namespace std::chrono_literals;
using test::Look;
using test::make_sample;

constexpr std::size_t image_bytes = 20'000;  // As the second copy's.

class SecondCopy {
 public:
  SecondCopy() : library_(::dlopen(KILN_SECOND_COPY, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) ADD_FAILURE() << ::dlerror();
  }
  ~SecondCopy() {
    if (library_ != nullptr) ::dlclose(library_);
  }
  template <class Signature>
  Signature* function(const char* name) const {
    return reinterpret_cast<Signature*>(::dlsym(library_, name));
  }
  [[nodiscard]] bool loaded() const { return library_ != nullptr; }

 private:
  void* library_;
};

class F13 : public ::testing::Test {
 protected:
  static constexpr int samples = 40;

  void SetUp() override {
    ASSERT_TRUE(copy_.loaded());
    ASSERT_EQ(copy_.function<int(const char*)>("second_copy_open")(folder_.path().c_str()), 0);
    for (int number = 0; number < samples; ++number) {
      ASSERT_TRUE(cache_.put(make_sample(number, image_bytes).entry()));
    }
  }
  void TearDown() override {
    if (copy_.loaded()) copy_.function<void()>("second_copy_close")();
  }

  std::uint64_t counted(Counter counter) const {
    return cache_.counters()[counter] +
           copy_.function<unsigned long long(int)>("second_copy_count")(static_cast<int>(counter));
  }

  /// Runs `step` in a thread until the time is up.
  template <class Step>
  std::thread repeat(Step step) {
    return std::thread([this, step] {
      for (unsigned n = 0; watch_.passed() < time_; ++n) step(static_cast<int>(n * 7 % samples));
    });
  }

  const SecondCopy copy_;
  test::TemporaryFolder folder_;
  Cache cache_ = Cache::open(folder_.path()).value();
  const test::Stopwatch watch_{};
  const std::chrono::seconds time_{test::sized(4, 60)};
};

TEST_F(F13, BothWriteAndReadAllTheWhile) {
  std::atomic<int> missed = 0;
  std::atomic<int> wrong = 0;
  std::atomic<int> unstored = 0;
  const auto count_look = [&](int look) { (look == 1 ? missed : wrong) += look != 0; };
  const auto put = copy_.function<int(int)>("second_copy_put");
  const auto look_there = copy_.function<int(int)>("second_copy_look");
  std::vector<std::thread> threads;
  threads.push_back(
      repeat([&](int n) { unstored += !cache_.put(make_sample(n, image_bytes).entry()); }));
  threads.push_back(repeat([&](int n) { unstored += put(n) != 0; }));
  threads.push_back(repeat([&](int n) { count_look(look_there(n)); }));
  threads.push_back(repeat([&](int n) {
    const Look found = look(cache_, make_sample(n, image_bytes));
    count_look(found == Look::hit ? 0 : found == Look::miss ? 1 : 2);
  }));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(missed, 0);
  EXPECT_EQ(unstored, 0);
  for (const Counter counter : {Counter::errors_corrupt, Counter::errors_io, Counter::errors_locked,
                                Counter::misses_damaged, Counter::generations}) {
    EXPECT_EQ(counted(counter), 0u) << to_string(counter);
  }
  EXPECT_EQ(cache_.file().filename(), "kernels.v1.db");
  test::expect_in_order(folder_.path());
}

}  // namespace
}  // namespace kiln
