#include "compile/missing_header.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kiln::test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

std::string remedy(std::string_view name, int cuda_major) {
  return remedy_for_missing_header(name, {}, cuda_major);
}

TEST(MissingHeader, OfCudaIsInAPackageOfItsMajorVersion) {
  EXPECT_THAT(remedy("cuda_fp16.h", 13), EndsWith("PyPI's nvidia-cuda-runtime"));
  EXPECT_THAT(remedy("cuda_fp16.h", 12), EndsWith("PyPI's nvidia-cuda-runtime-cu12"));
  EXPECT_THAT(remedy("cub/cub.cuh", 14), EndsWith("PyPI's nvidia-cuda-cccl"));
  EXPECT_THAT(remedy("cub/cub.cuh", 12), EndsWith("PyPI's nvidia-cuda-cccl-cu12"));
}

// <mma.h> includes it, and is in another package.
TEST(MissingHeader, OfTheCompilersOwnIsInAnotherPackage) {
  EXPECT_THAT(remedy("mma.h", 13), EndsWith("PyPI's nvidia-cuda-runtime"));
  EXPECT_THAT(remedy("crt/mma.h", 13), EndsWith("PyPI's nvidia-cuda-crt"));
  EXPECT_THAT(remedy("crt/mma.h", 12), EndsWith("PyPI's nvidia-cuda-nvcc-cu12"));
}

TEST(MissingHeader, OfAnybodyElseIsInNoPackage) {
  EXPECT_THAT(remedy("engine/vector.cuh", 13), Not(HasSubstr("PyPI")));
  EXPECT_THAT(remedy("cstdint", 13), HasSubstr("kiln::standard_headers()"));
}

}  // namespace
}  // namespace kiln::test
