// Limits that are named before the driver is asked, the one that is raised, and what a kernel tells
// without a launch.

#include <thread>
#include <vector>

#include <cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiled.h"
#include "fake_driver.h"
#include "kiln/launch.h"

namespace kiln {
namespace {

using testing::HasSubstr;

const Program& program() {
  static const Program made = make_program(R"(
extern "C" __global__ void fill(float* x) { *x = 1; }
extern "C" __global__ void sharing(float* x) {
  __shared__ float own[1024];
  own[threadIdx.x] = *x;
  __syncthreads();
  *x = own[1023 - threadIdx.x];
}
)",
                                           {"fill", "sharing"});
  return made;
}

class LimitsTest : public FakeDriverTest {
 protected:
  Kernel kernel(const char* name = "fill") { return runtime_.kernel(program(), name).value(); }

  std::string refusal(const LaunchConfig& config) {
    const auto launched = kernel().launch(nullptr, config, nullptr);
    EXPECT_FALSE(launched.has_value());
    if (launched) return {};
    EXPECT_EQ(launched.error().code, ErrorCode::invalid_argument);
    return launched.error().message;
  }

  Runtime runtime_ = open_runtime();
};

TEST_F(LimitsTest, EachIsNamed) {
  EXPECT_EQ(refusal({.grid = {1, 65536}, .block = {1}}),
            "kernel 'fill': grid 1x65536x1: y is 65536, and the device takes 65535 at most");
  EXPECT_EQ(
      refusal({.grid = {0x80000000}, .block = {1}}),
      "kernel 'fill': grid 2147483648x1x1: x is 2147483648, and the device takes 2147483647 at "
      "most");
  EXPECT_EQ(refusal({.grid = {1, 1, 70000}, .block = {1}}),
            "kernel 'fill': grid 1x1x70000: z is 70000, and the device takes 65535 at most");
  EXPECT_EQ(refusal({.block = {1025}}),
            "kernel 'fill': block 1025x1x1: x is 1025, and the device takes 1024 at most");
  EXPECT_EQ(refusal({.block = {1, 1, 65}}),
            "kernel 'fill': block 1x1x65: z is 65, and the device takes 64 at most");
  EXPECT_EQ(
      refusal({.block = {64, 32}}),
      "kernel 'fill': block 64x32x1: it has 2048 threads, and this kernel takes 1024 at most");
  EXPECT_EQ(refusal({.grid = {0}, .block = {1}}),
            "kernel 'fill': grid 0x1x1: no dimension may be 0");
  EXPECT_EQ(refusal({.shared_bytes = 232449}),
            "kernel 'fill': 232449 bytes of dynamic shared memory and the kernel's own 0 are more "
            "than the 232448 that the device gives a block");
  EXPECT_EQ(launch_count_(), 0U);
  EXPECT_EQ(attribute_sets_(), 0U);
}

TEST_F(LimitsTest, AreStillThereAfterALaunch) {
  ASSERT_TRUE(kernel().launch(nullptr, {.block = {1024}}, nullptr).has_value());
  EXPECT_THAT(refusal({.block = {1025}}), HasSubstr("1024 at most"));
  EXPECT_THAT(refusal({.block = {0}}), HasSubstr("no dimension may be 0"));
}

TEST_F(LimitsTest, SharedMemoryIsRaisedOnceAndOnlyWhereItIsNeeded) {
  const Kernel sharing = kernel("sharing");
  const auto launch = [&](std::uint32_t bytes) {
    return sharing.launch(nullptr, {.block = {1024}, .shared_bytes = bytes}, nullptr);
  };
  ASSERT_TRUE(launch(44 * 1024).has_value());
  EXPECT_EQ(attribute_sets_(), 0U);
  ASSERT_TRUE(launch(45 * 1024).has_value());
  ASSERT_TRUE(launch(100 * 1024).has_value());
  ASSERT_TRUE(launch(232448 - 4096).has_value());
  EXPECT_EQ(attribute_sets_(), 1U);
  const auto beyond = launch(232448 - 4095);
  ASSERT_FALSE(beyond.has_value());
  EXPECT_THAT(beyond.error().message, HasSubstr("the kernel's own 4096 are more than the 232448"));
  EXPECT_EQ(launch_count_(), 4U);
}

TEST_F(LimitsTest, ThreadsRaiseItTogether) {
  const Kernel sharing = kernel("sharing");
  std::vector<std::thread> threads;
  for (std::uint32_t index = 0; index < 8; ++index) {
    threads.emplace_back([&, index] {
      for (std::uint32_t round = 0; round < 100; ++round) {
        const LaunchConfig config{.block = {32}, .shared_bytes = (60 + index * 8) * 1024 + round};
        const auto launched = sharing.launch(nullptr, config, nullptr);
        if (!launched) ADD_FAILURE() << launched.error().message;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(launch_count_(), 800U);
}

TEST_F(LimitsTest, ADriverThatDoesNotRaiseItIsReported) {
  fail_("cuKernelSetAttribute", CUDA_ERROR_INVALID_VALUE);
  const auto launched = kernel().launch(nullptr, {.shared_bytes = 100000}, nullptr);
  ASSERT_FALSE(launched.has_value());
  EXPECT_EQ(launched.error().message,
            "kernel 'fill': cannot raise its limit of dynamic shared memory to 232448: "
            "CUDA_ERROR_INVALID_VALUE (1)");
}

TEST_F(LimitsTest, AttributesAreTold) {
  const Kernel sharing = kernel("sharing");
  const auto attributes = sharing.attributes().value();
  EXPECT_EQ(attributes.registers, sharing.info().registers);
  EXPECT_EQ(attributes.shared_bytes, 4096U);
  EXPECT_EQ(attributes.local_bytes, 0U);
  EXPECT_EQ(attributes.max_threads_per_block, 1024U);
  EXPECT_EQ(attributes.max_dynamic_shared_bytes, 232448U - 4096);
  EXPECT_EQ(attributes.binary_version, 90U);
  EXPECT_EQ(attributes.required_cluster, (Dim3{0, 0, 0}));
  EXPECT_EQ(launch_count_(), 0U);

  fail_("cuKernelGetAttribute", CUDA_ERROR_INVALID_CONTEXT);
  const auto failed = sharing.attributes();
  ASSERT_FALSE(failed.has_value());
  EXPECT_THAT(failed.error().message, HasSubstr("CUDA_ERROR_INVALID_CONTEXT"));
}

// The fake driver's answers follow from what it is asked.
TEST_F(LimitsTest, OccupancyIsTold) {
  const Kernel fill = kernel();
  EXPECT_EQ(fill.blocks_per_multiprocessor(256).value(), 8U);
  EXPECT_EQ(fill.blocks_per_multiprocessor(256, 65536).value(), 7U);
  EXPECT_EQ(fill.best_block_size().value(), (BlockSuggestion{768, 132}));
  EXPECT_EQ(fill.best_block_size(1024, 128).value(), (BlockSuggestion{128, 132 + 1024}));
  EXPECT_EQ(fill.max_active_clusters({.grid = {8}, .block = {32}, .cluster = {4}}).value(), 33U);
  EXPECT_EQ(fill.max_cluster_blocks({.grid = {16}, .block = {32}}).value(), 8U);
  EXPECT_EQ(fill.max_active_clusters({.grid = {16}, .cluster = {16}}).value(), 8U);
  EXPECT_EQ(fill.max_cluster_blocks({.grid = {16}, .block = {32}}).value(), 16U);
  EXPECT_FALSE(fill.max_active_clusters({.grid = {8}}).has_value());
  EXPECT_FALSE(fill.blocks_per_multiprocessor(2000).has_value());
}

}  // namespace
}  // namespace kiln
