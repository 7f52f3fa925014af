// Kernels where compiling is forbidden, and the device as an explanation sees it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiled.h"
#include "fake_driver.h"
#include "kiln/runtime.h"

namespace kiln {
namespace {

using testing::HasSubstr;

using KernelMode = FakeDriverTest;

TEST_F(KernelMode, CacheOnlyGivesNoKernelThatIsNotCached) {
  const auto program = make_program("extern \"C\" __global__ void k(int* x) { *x = 1; }", {"k"});
  auto runtime = open_runtime();
  runtime.set_mode(Mode::cache_only);
  const auto missed = runtime.kernel(program, "k");
  ASSERT_FALSE(missed);
  EXPECT_EQ(missed.error().code, ErrorCode::not_cached);
  EXPECT_THAT(missed.error().message, HasSubstr("for sm_90a (request "));
  runtime.set_mode(Mode::jit);
  ASSERT_TRUE(runtime.kernel(program, "k"));
  runtime.set_mode(Mode::cache_only);
  EXPECT_TRUE(runtime.kernel(program, "k"));
}

TEST_F(KernelMode, ExplainTakesTheCurrentDeviceForNative) {
  const auto program = make_program("extern \"C\" __global__ void k(int* x) { *x = 1; }", {"k"});
  auto runtime = open_runtime();
  const auto explanation = runtime.explain(program, Target::parse("native").value()).value();
  EXPECT_FALSE(explanation.hit);
  EXPECT_EQ(explanation.arch, "sm_90a");
}

}  // namespace
}  // namespace kiln
