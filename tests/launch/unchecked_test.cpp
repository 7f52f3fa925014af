// A file that leaves the checks of arguments out, in a program whose other files have them.

#define KILN_LAUNCH_CHECKS 0

#include <gtest/gtest.h>

#include "compiled.h"
#include "fake_driver.h"
#include "kiln/launch.h"

namespace kiln {
namespace {

using UncheckedTest = FakeDriverTest;

TEST_F(UncheckedTest, ArgumentsGoToTheDriverAsTheyAre) {
  Runtime runtime = open_runtime();
  const auto program =
      make_program("extern \"C\" __global__ void fill(float* x, float y) { *x = y; }", {"fill"});
  const Kernel kernel = runtime.kernel(program, "fill").value();
  float* const pointer = reinterpret_cast<float*>(0x7f1234567890);
  const LaunchConfig config{.grid = {1}, .block = {32}};
  EXPECT_TRUE(kernel.launch(nullptr, config, pointer, 1.5F).has_value());
  EXPECT_EQ(received(0, 1), bytes_of(1.5F));
  EXPECT_TRUE(kernel.launch(nullptr, config, pointer, 2.5, 3).has_value());
  EXPECT_TRUE(kernel.launch(nullptr, config, Args(pointer, 2.5, 3)).has_value());
  EXPECT_EQ(launch_count_(), 3U);
  // Where the driver would have to guess, kiln still says so itself.
  EXPECT_FALSE(kernel.launch(nullptr, {.block = {4096}}, pointer, 1.5F).has_value());
}

}  // namespace
}  // namespace kiln
