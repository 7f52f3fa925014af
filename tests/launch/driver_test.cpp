#include "vendor/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_driver.h"

namespace kiln::vendor {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* compile_only = "CUDA driver: not available (compile-only mode): ";

class DriverTest : public FakeDriverTest {
 protected:
  static std::shared_ptr<const Driver> open_fake() {
    return open_driver(fake_driver_path()).value();
  }

  /// The error of a driver that does not open.
  static Error refusal(const std::filesystem::path& path) {
    const auto driver = open_driver(path);
    EXPECT_FALSE(driver.has_value());
    return driver ? Error{} : driver.error();
  }
};

TEST_F(DriverTest, OpensExactlyTheLibraryAskedFor) {
  set("FAKE_CUDA_VERSION", "12080");
  const auto driver = open_fake();
  EXPECT_EQ(driver->path(), fake_driver_path());
  EXPECT_EQ(driver->version(), 12080);
  EXPECT_NE(driver->functions().launch_kernel, nullptr);
}

TEST_F(DriverTest, FindsTheOneThatIsLoadedAlready) {
  const auto driver = open_driver(std::nullopt);
  ASSERT_TRUE(driver.has_value()) << driver.error().message;
  EXPECT_EQ((*driver)->path(), fake_driver_path());
}

TEST_F(DriverTest, TellsTheDeviceWithoutMakingAContext) {
  set("FAKE_CUDA_ARCH", "103");
  const auto driver = open_fake();
  const auto device = driver->describe_current_device().value();
  EXPECT_EQ(device.major, 10);
  EXPECT_EQ(device.minor, 3);
  EXPECT_EQ(device.name, "Fake GPU sm_103");
  CUcontext context = nullptr;
  EXPECT_EQ(driver->functions().ctx_get_current(&context), CUDA_SUCCESS);
  EXPECT_EQ(context, nullptr);

  EXPECT_TRUE(driver->ensure_context(device.handle).has_value());
  EXPECT_EQ(driver->functions().ctx_get_current(&context), CUDA_SUCCESS);
  EXPECT_NE(context, nullptr);
  EXPECT_EQ(driver->current_device().value(), device.handle);
}

TEST_F(DriverTest, LeavesACurrentContextAlone) {
  const auto driver = open_fake();
  ASSERT_TRUE(driver->ensure_context(0).has_value());
  fail_("cuDevicePrimaryCtxRetain", CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_TRUE(driver->ensure_context(0).has_value());
}

TEST_F(DriverTest, GoesWithoutWhatAnOlderDriverLacks) {
  set("FAKE_CUDA_VERSION", "12000");
  EXPECT_EQ(open_fake()->functions().kernel_get_param_info, nullptr);
  set("FAKE_CUDA_VERSION", "12040");
  EXPECT_NE(open_fake()->functions().kernel_get_param_info, nullptr);
}

TEST_F(DriverTest, NamesErrorsWithAndWithoutTheDriversHelp) {
  const auto driver = open_fake();
  EXPECT_EQ(driver->error_name(CUDA_ERROR_NO_BINARY_FOR_GPU), "CUDA_ERROR_NO_BINARY_FOR_GPU (209)");
  EXPECT_EQ(driver->error_name(CUDA_ERROR_OUT_OF_MEMORY), "CUDA_ERROR_OUT_OF_MEMORY (2)");
  EXPECT_EQ(driver->error_name(static_cast<CUresult>(998)), "CUDA error (998)");
}

TEST_F(DriverTest, AMissingLibraryIsReportedInTheLoadersWords) {
  const Error error = refusal("/nowhere/libcuda.so.1");
  EXPECT_EQ(error.code, ErrorCode::driver_missing);
  EXPECT_THAT(error.message, StartsWith(compile_only));
  EXPECT_THAT(error.message, HasSubstr("/nowhere/libcuda.so.1: cannot open shared object file"));
  EXPECT_THAT(error.message, HasSubstr("Give the path of the machine's own libcuda.so.1"));
}

TEST_F(DriverTest, AnExactPathHasNoFallback) {
  // The fake is loaded in this process, so anything but the path itself would find it.
  EXPECT_EQ(refusal("/nowhere/libcuda.so.1").code, ErrorCode::driver_missing);
}

TEST_F(DriverTest, TheToolkitsStubIsNoDriver) {
  const Error error = refusal(stub_driver_path());
  EXPECT_THAT(error.message, StartsWith(compile_only));
  EXPECT_THAT(error.message, HasSubstr("is the toolkit's stub: CUDA_ERROR_STUB_LIBRARY (34)"));
  EXPECT_EQ(error.vendor_code, CUDA_ERROR_STUB_LIBRARY);
}

TEST_F(DriverTest, ALibraryThatIsNoDriverAtAllIsRefused) {
  const Error error = refusal("libm.so.6");
  EXPECT_THAT(error.message, HasSubstr("has no cuGetProcAddress_v2"));
}

TEST_F(DriverTest, SaysWhyInitialisationFailed) {
  set("FAKE_CUDA_INIT", "34");
  EXPECT_THAT(refusal(fake_driver_path()).message,
              HasSubstr("cuInit answered CUDA_ERROR_STUB_LIBRARY (34)"));
  set("FAKE_CUDA_INIT", "100");
  const Error no_device = refusal(fake_driver_path());
  EXPECT_THAT(no_device.message,
              StartsWith(std::string(compile_only) + "the driver sees no device"));
  EXPECT_THAT(no_device.message, HasSubstr("cuInit answered CUDA_ERROR_NO_DEVICE (100)"));
  EXPECT_THAT(no_device.message, HasSubstr("CUDA_VISIBLE_DEVICES"));
  EXPECT_EQ(no_device.vendor_code, CUDA_ERROR_NO_DEVICE);
  set("FAKE_CUDA_INIT", "803");
  EXPECT_THAT(refusal(fake_driver_path()).message,
              HasSubstr("cuInit answered CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)"));
}

TEST_F(DriverTest, ADriverOlderThanCuda12IsRefused) {
  set("FAKE_CUDA_VERSION", "11080");
  EXPECT_THAT(refusal(fake_driver_path()).message,
              HasSubstr("has no cuLibraryLoadData: older than CUDA 12"));
}

TEST(DriverSearchTest, FindsADriverOrListsEveryPlaceThatItLookedAt) {
  const auto driver = open_driver(std::nullopt);
  if (driver) {
    EXPECT_THAT((*driver)->path().filename().string(), StartsWith("libcuda.so."));
    EXPECT_GE((*driver)->version(), 12000);
    return;
  }
  const std::string& message = driver.error().message;
  EXPECT_THAT(message, StartsWith(compile_only));
  EXPECT_THAT(message, HasSubstr("libcuda.so.1 (already loaded): "));
  EXPECT_THAT(message,
              HasSubstr("libcuda.so.1 (the loader's search path): libcuda.so.1: cannot open"));
  EXPECT_THAT(message, HasSubstr("/usr/lib/wsl/lib/libcuda.so.1 (WSL): "));
  EXPECT_THAT(message, HasSubstr("/run/opengl-driver/lib/libcuda.so.1 (NixOS): "));
  EXPECT_THAT(message, HasSubstr("/usr/local/nvidia/lib64/libcuda.so.1 (containers): "));
  EXPECT_THAT(message, HasSubstr("Install NVIDIA's driver R525 or newer, or set KILN_CUDA_DRIVER"));
}

}  // namespace
}  // namespace kiln::vendor
