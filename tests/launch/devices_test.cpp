// One process with two devices, of one architecture or of two.

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiled.h"
#include "fake_driver.h"
#include "kiln/runtime.h"
#include "vendor/driver.h"

namespace kiln {
namespace {

using testing::Each;

class DevicesTest : public FakeDriverTest {
 protected:
  static void make_current(CUdevice device) {
    const auto driver = vendor::open_driver(fake_driver_path()).value();
    CUcontext context = nullptr;
    ASSERT_EQ(driver->functions().device_primary_ctx_retain(&context, device), CUDA_SUCCESS);
    ASSERT_EQ(driver->functions().ctx_set_current(context), CUDA_SUCCESS);
  }

  const Program program_ =
      make_program("extern \"C\" __global__ void k(int* x, int y) { *x = y; }", {"k"});
  int* const x_ = nullptr;
};

TEST_F(DevicesTest, EachIsGivenItsOwnImage) {
  set("FAKE_CUDA_ARCH", "80,90");
  Runtime runtime = open_runtime();
  const char* const archs[] = {"sm_80", "sm_90a"};
  for (int round = 0; round < 2; ++round) {
    for (const CUdevice device : {0, 1}) {
      make_current(device);
      const auto kernel = runtime.kernel(program_, "k").value();
      EXPECT_EQ(kernel.arch(), archs[device]);
      ASSERT_TRUE(kernel.launch(nullptr, {}, x_, device).has_value());
      EXPECT_EQ(launch_(launch_count_() - 1).device, device);
    }
  }
  EXPECT_EQ(runtime.counters().loads, 2U);
  EXPECT_EQ(runtime.counters().compiles, 2U);
}

TEST_F(DevicesTest, OneImageIsLoadedOnceForEach) {
  set("FAKE_CUDA_ARCH", "90,90");
  const auto before = library_count_();
  {
    Runtime runtime = open_runtime();
    for (const CUdevice device : {0, 1, 0, 1}) {
      make_current(device);
      EXPECT_EQ(runtime.kernel(program_, "k")->arch(), "sm_90a");
    }
    EXPECT_EQ(runtime.counters().compiles, 1U);
    EXPECT_EQ(runtime.counters().loads, 2U);
    EXPECT_EQ(library_count_(), before + 2);
  }
  EXPECT_EQ(library_count_(), before);
}

// An image is in the driver, not in a context: a thread without one gets that of the kernel's device.
TEST_F(DevicesTest, LibrariesBelongToNoContext) {
  set("FAKE_CUDA_ARCH", "80,90");
  Runtime runtime = open_runtime();
  make_current(1);
  const auto kernel = runtime.kernel(program_, "k").value();
  std::thread([&] {
    const auto launched = kernel.launch(nullptr, {}, x_, 1);
    EXPECT_TRUE(launched) << launched.error().message;
  }).join();
  ASSERT_EQ(launch_count_(), 1U);
  EXPECT_EQ(launch_(0).device, 1);
  make_current(0);
  EXPECT_EQ(kernel.launch(nullptr, {}, x_, 1).error().vendor_code, CUDA_ERROR_NO_BINARY_FOR_GPU)
      << "a kernel is for the device that it was asked for on";
}

TEST_F(DevicesTest, EachIsGivenItsOwnVariant) {
  set("FAKE_CUDA_ARCH", "80,90");
  Runtime runtime = open_runtime();
  const auto program = Program::make(
      {.name = "two.cu",
       .source = "extern \"C\" __global__ void k(int* x) { *x = 1; }",
       .kernels = {"k"},
       .variants = {{.name = "hopper",
                     .since = "sm_90a",
                     .source = "extern \"C\" __global__ void h(int* x, int y) { *x = y; }",
                     .kernels = {{"k", "h"}}}}});
  for (const CUdevice device : {0, 1}) {
    make_current(device);
    EXPECT_EQ(runtime.kernel(*program, "k")->info().expression, device == 0 ? "k" : "h");
  }
}

TEST_F(DevicesTest, ManyThreadsOnBoth) {
  set("FAKE_CUDA_ARCH", "80,90");
  Runtime runtime = open_runtime();
  constexpr int thread_count = 64;
  constexpr int launches = 20;
  std::vector<std::string> failures(thread_count);
  std::vector<std::thread> threads;
  for (int index = 0; index < thread_count; ++index) {
    threads.emplace_back([&, index] {
      const CUdevice device = index % 2;
      make_current(device);
      for (int count = 0; count < launches; ++count) {
        const auto kernel = runtime.kernel(program_, "k");
        if (!kernel) return void(failures[index] = kernel.error().message);
        if (kernel->arch() != (device == 0 ? "sm_80" : "sm_90a")) failures[index] = kernel->arch();
        const auto launched = kernel->launch(nullptr, {}, x_, device);
        if (!launched) failures[index] = launched.error().message;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(failures, Each(""));
  EXPECT_EQ(runtime.counters().loads, 2U);
  EXPECT_EQ(runtime.counters().compiles, 2U);
  ASSERT_EQ(launch_count_(), std::size_t{thread_count} * launches);
  for (std::size_t launch = 0; launch < launch_count_(); ++launch) {
    EXPECT_EQ(received(launch, 1), bytes_of(launch_(launch).device));
  }
}

}  // namespace
}  // namespace kiln
