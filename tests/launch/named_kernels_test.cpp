#include "kiln/named_kernels.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "launch/access.h"
#include "launch/kernel_record.h"

namespace kiln {
namespace {

class NamedKernelsTest : public testing::Test {
 protected:
  [[nodiscard]] Kernel kernel(std::uint64_t number) const {
    return Kernel(records_[number % records_.size()]);
  }

  /// Whether it is this one.
  [[nodiscard]] bool is(const std::optional<Kernel>& found, std::uint64_t number) const {
    return found && &KernelAccess::record(*found) == &records_[number % records_.size()];
  }

  std::vector<KernelRecord> records_ = std::vector<KernelRecord>(4);
  NamedKernels kernels_;
};

TEST_F(NamedKernelsTest, AreFoundByNameAndByNumber) {
  EXPECT_FALSE(kernels_.find("scale"));
  EXPECT_FALSE(kernels_.find(7));
  kernels_.set("scale", kernel(0));
  kernels_.set("7", kernel(1));
  kernels_.set(7, kernel(2));
  kernels_.set("", kernel(3));
  EXPECT_TRUE(is(kernels_.find("scale"), 0));
  EXPECT_TRUE(is(kernels_.find("7"), 1));
  EXPECT_TRUE(is(kernels_.find(7), 2));
  EXPECT_TRUE(is(kernels_.find(""), 3));
  EXPECT_FALSE(kernels_.find("scal"));
  EXPECT_FALSE(kernels_.find(std::string_view("scale\0", 6)));
  EXPECT_FALSE(kernels_.find(8));
  EXPECT_EQ(kernels_.size(), 4U);
}

TEST_F(NamedKernelsTest, TheOneThatWasSetLastCounts) {
  kernels_.set("scale", kernel(0));
  kernels_.set("scale", kernel(1));
  kernels_.set(7, kernel(2));
  kernels_.set(7, kernel(3));
  EXPECT_TRUE(is(kernels_.find("scale"), 1));
  EXPECT_TRUE(is(kernels_.find(7), 3));
  EXPECT_EQ(kernels_.size(), 2U);
}

TEST_F(NamedKernelsTest, GoAlongWhereTheyAreMoved) {
  kernels_.set("scale", kernel(1));
  const NamedKernels moved = std::move(kernels_);
  EXPECT_TRUE(is(moved.find("scale"), 1));
}

TEST_F(NamedKernelsTest, AreReadWhileEightThreadsSet) {
  constexpr std::uint64_t threads = 8;
  constexpr std::uint64_t each = 2'000;
  std::vector<std::atomic<std::uint64_t>> done(threads);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> all;
  for (std::uint64_t thread = 0; thread < threads; ++thread) {
    all.emplace_back([&, thread] {
      for (std::uint64_t at = 0; at < each; ++at) {
        const auto number = thread * each + at;
        kernels_.set(number, kernel(number));
        kernels_.set("kernel " + std::to_string(number), kernel(number));
        done[thread].store(at + 1, std::memory_order_release);
      }
    });
  }
  for (std::uint64_t thread = 0; thread < threads; ++thread) {
    for (std::uint64_t seen = 0; seen < each;) {
      seen = done[thread].load(std::memory_order_acquire);
      if (seen == 0) continue;
      const auto number = thread * each + seen - 1;
      if (!is(kernels_.find(number), number)) ++wrong;
      if (!is(kernels_.find("kernel " + std::to_string(number)), number)) ++wrong;
    }
  }
  for (auto& thread : all) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(kernels_.size(), 2 * threads * each);
}

}  // namespace
}  // namespace kiln
