#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiled.h"
#include "fake_driver.h"
#include "kiln/launch.h"
#include "launch/loaded_image.h"

namespace kiln {
namespace {

using testing::HasSubstr;

const Program& program() {
  static const Program made = make_program(
      "template <class T> __global__ void fill(T* out, T value, int count) { out[count] = value; }",
      {"fill<float>", "fill<double>"});
  return made;
}

class LoadTest : public FakeDriverTest {
 protected:
  static Result<std::unique_ptr<const LoadedImage>> load(const Artifact& artifact) {
    const auto driver = vendor::open_driver(fake_driver_path()).value();
    return LoadedImage::load(driver, driver->describe_current_device().value(), artifact, {});
  }
};

TEST_F(LoadTest, FindsItsKernelsByExpression) {
  const auto module = load(compile_for(program(), "sm_90a")).value();
  const KernelRecord* kernel = module->find("fill<double>");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(Kernel(*kernel).arch(), "sm_90a");
  EXPECT_EQ(Kernel(*kernel).info().symbol, "_Z4fillIdEvPT_S0_i");
  EXPECT_EQ(module->find("fill<int>"), nullptr);
}

TEST_F(LoadTest, IsUnloadedAtItsEnd) {
  const std::size_t before = library_count_();
  {
    const auto module = load(compile_for(program(), "sm_90")).value();
    EXPECT_EQ(library_count_(), before + 1);
  }
  EXPECT_EQ(library_count_(), before);
}

TEST_F(LoadTest, AnImageThatTheDeviceDoesNotRunIsRefusedByTheDriver) {
  const auto code_on = [&](const char* device, const char* arch) {
    set("FAKE_CUDA_ARCH", device);
    const auto module = load(compile_for(program(), arch));
    return module ? 0 : module.error().vendor_code;
  };
  EXPECT_EQ(code_on("90", "sm_90a"), CUDA_SUCCESS);
  EXPECT_EQ(code_on("86", "sm_80"), CUDA_SUCCESS);
  EXPECT_EQ(code_on("80", "sm_86"), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(code_on("90", "sm_80"), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(code_on("103", "sm_100f"), CUDA_SUCCESS);
  EXPECT_EQ(code_on("103", "sm_100a"), CUDA_ERROR_NO_BINARY_FOR_GPU);

  set("FAKE_CUDA_ARCH", "120");
  const auto module = load(compile_for(program(), "sm_90"));
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().code, ErrorCode::driver_failed);
  EXPECT_EQ(module.error().message,
            "the driver does not load test.cu for sm_90 on Fake GPU sm_120 (compute capability "
            "12.0): CUDA_ERROR_NO_BINARY_FOR_GPU (209)");
}

// An expression may name a variable, too.
TEST_F(LoadTest, WhatIsNoKernelIsNotFoundAndTheKernelsAre) {
  const std::size_t before = library_count_();
  Artifact artifact = compile_for(program(), "sm_90");
  artifact.kernels[1].symbol = "a_variable";
  {
    const auto module = load(artifact);
    ASSERT_TRUE(module) << module.error().message;
    EXPECT_EQ((*module)->find(artifact.kernels[1].expression), nullptr);
    EXPECT_NE((*module)->find(artifact.kernels[0].expression), nullptr);
  }
  EXPECT_EQ(library_count_(), before);
}

TEST_F(LoadTest, AsksTheDriverForParametersThatTheImageDoesNotTell) {
  Artifact artifact = compile_for(program(), "sm_90");
  const KernelInfo told = artifact.kernels[0];
  artifact.kernels[0].params_known = false;
  artifact.kernels[0].params.clear();
  EXPECT_EQ(load(artifact).value()->find(told.expression)->info, told);

  set("FAKE_CUDA_VERSION", "12000");
  EXPECT_FALSE(load(artifact).value()->find(told.expression)->info.params_known);
}

}  // namespace
}  // namespace kiln
