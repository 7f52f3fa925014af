#include "compile/missing_header.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/scratch.h"

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

TEST(MissingHeader, ThatIsThereAndDoesNotServeSaysWhyNot) {
  const ScratchDirectory scratch;
  std::filesystem::create_directory(scratch / "folder.h");
  std::filesystem::create_symlink("nowhere", scratch / "link.h");
  const auto why = [&](std::string_view name) {
    return remedy_for_missing_header(name, {scratch.path().string()}, 13);
  };
  EXPECT_THAT(why("folder.h"), EndsWith("/folder.h' is no file"));
  EXPECT_THAT(why("link.h"), EndsWith("/link.h' is a link that leads nowhere"));
  EXPECT_THAT(why("none.h"), HasSubstr("Add its folder"));
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  write_file(scratch / "closed.h", "");
  std::filesystem::permissions(scratch / "closed.h", std::filesystem::perms::none);
  EXPECT_THAT(why("closed.h"), EndsWith("/closed.h' may not be read"));
}

TEST(MissingHeader, OfAnybodyElseIsInNoPackage) {
  for (const auto* name : {"cuda_utils.h", "cuda/helpers.cuh", "cuda.hpp", "mma.hpp"})
    EXPECT_THAT(remedy(name, 13), Not(HasSubstr("PyPI"))) << name;
  EXPECT_THAT(remedy("nv/target", 13), HasSubstr("PyPI's nvidia-cuda-cccl"));
  EXPECT_THAT(remedy("cuda/barrier", 13), HasSubstr("PyPI's nvidia-cuda-cccl"));
  EXPECT_THAT(remedy("engine/vector.cuh", 13), Not(HasSubstr("PyPI")));
  EXPECT_THAT(remedy("cstdint", 13), HasSubstr("kiln::standard_headers()"));
}

}  // namespace
}  // namespace kiln::test
