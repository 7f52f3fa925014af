// The same request gives the same bytes, whenever and wherever it is compiled.

#include <gtest/gtest.h>

#include "compile_fixture.h"
#include "support/child.h"

namespace kiln::test {
namespace {

// Names with internal linkage are where NVRTC puts a random number when left alone.
constexpr const char* internal_linkage = R"(
static __device__ int counter;
namespace { __device__ int hidden; template <class T> __global__ void inner(T* x) { *x = T(hidden += 1); } }
static __global__ void local(int* x) { *x = ++counter; }
)";

class Reproducible : public ::testing::TestWithParam<ImageKind> {
 protected:
  static std::string compile(const std::filesystem::path& cache) {
    RuntimeOptions options;
    options.cache_directory = cache;
    const auto program = Program::make({.name = "internal.cu",
                                        .source = internal_linkage,
                                        .kernels = {"inner<float>", "local"}})
                             .value();
    const auto artifact =
        Runtime::open(options).value().compile(program, Target::parse("sm_90", GetParam()).value());
    EXPECT_TRUE(artifact) << artifact.error().message << artifact.error().log;
    if (!artifact) return {};
    EXPECT_EQ(artifact->origin, Origin::compiled);
    std::string all = artifact->image;
    for (const auto& kernel : artifact->kernels) all += "\n" + kernel.symbol;
    return all;
  }
};

TEST_P(Reproducible, TwoEmptyCachesInTwoProcesses) {
  ScratchDirectory scratch;
  ASSERT_EQ(run_in_child([&] {
              write_file(scratch / "first", compile(scratch / "cache-1"));
              return 0;
            }),
            0);
  const auto first = read_file(scratch / "first");
  ASSERT_FALSE(first.empty());
  EXPECT_EQ(compile(scratch / "cache-2"), first);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Reproducible,
                         ::testing::Values(ImageKind::cubin, ImageKind::ptx, ImageKind::ltoir,
                                           ImageKind::optixir),
                         [](const auto& kind) { return std::string(to_string(kind.param)); });

}  // namespace
}  // namespace kiln::test
