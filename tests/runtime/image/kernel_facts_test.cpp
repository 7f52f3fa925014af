// What an image tells of the kernels that are asked of it.

#include "image/kernel_facts.h"

#include <string>

#include <gtest/gtest.h>

#include "compile_fixture.h"

namespace kiln::test {
namespace {

// NVRTC before 13.3 leaves nothing out, so that what is missing is asked of an image that never had it.
class KernelWithoutCode : public CompileFixture {
 protected:
  Artifact compiled(ImageKind kind) {
    ProgramSpec spec;
    spec.name = "k.cu";
    spec.source =
        "template <class T> __global__ void of(T* x) { *x = 1; }\n"
        "__device__ int plain;\n"
        "template <class T> __device__ T weak = 1;\n"
        "__constant__ int constant = 1;\n";
    spec.kernels = {"of<int>", "&plain", "&weak<int>", "&constant"};
    return try_compile(spec, kind == ImageKind::ptx ? "compute_80" : "sm_80", kind).value();
  }
};

TEST_F(KernelWithoutCode, IsFoundByItsWholeName) {
  for (const auto kind : {ImageKind::cubin, ImageKind::ptx}) {
    auto artifact = compiled(kind);
    ASSERT_EQ(artifact.kernels.size(), 4U);
    EXPECT_EQ(kernel_without_code(artifact), nullptr) << to_string(kind);
    for (const auto* symbol : {"t", "text", "_Z2ofIiEvPT", "absent"}) {
      artifact.kernels[1].symbol = symbol;
      EXPECT_EQ(kernel_without_code(artifact), &artifact.kernels[1]) << symbol;
    }
  }
}

TEST_F(KernelWithoutCode, IsUnknownOfImagesThatDoNotTell) {
  auto artifact = compiled(ImageKind::cubin);
  artifact.image = std::string("no image");
  EXPECT_EQ(kernel_without_code(artifact), nullptr);
}

}  // namespace
}  // namespace kiln::test
