// Images on a real GPU: what kiln reads off them beside what the driver says, and which of them the driver takes.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu.h"
#include "kiln/launch.h"
#include "kiln/link.h"
#include "kiln/module.h"
#include "kiln/resources.h"

namespace kiln {
namespace {

using gpu::check;
using gpu::DeviceBytes;

class ImageGpuTest : public gpu::GpuTest {
 protected:
  static constexpr const char* filling =
      "extern \"C\" __global__ void fill(int* x, int y) { x[threadIdx.x] = y + threadIdx.x; }";

  /// "sm_90" and its like, of the machine's device.
  static std::string arch_of_device() {
    const auto device = gpu::Machine::get().driver->describe_current_device().value();
    return "sm_" + std::to_string(10 * device.major + device.minor);
  }

  [[nodiscard]] int attribute(const Kernel& kernel, CUfunction_attribute which) const {
    const auto device = gpu::Machine::get().driver->current_device().value();
    int value = -1;
    check(functions().kernel_get_attribute(&value, which, kernel.native_handle(), device));
    return value;
  }

  static void expect_filled(const Kernel& kernel) {
    const DeviceBytes out(4 * sizeof(int));
    const auto launched = kernel.launch(nullptr, {.block = {4}}, out.as<int>(), 7);
    ASSERT_TRUE(launched.has_value()) << launched.error().message;
    EXPECT_EQ(out.read<int>(4), (std::vector{7, 8, 9, 10}));
  }
};

// Kernels of many sizes: registers by launch bounds, shared memory, a stack, constants.
constexpr const char* sizes = R"(
__constant__ float table[1000];
template <int threads, int shared, int stack>
__global__ void __launch_bounds__(threads) sized(float* out, int n) {
  float own[stack];
  for (int i = 0; i < stack; ++i) own[i] = out[i * n];
  if constexpr (shared > 0) {
    __shared__ float all[shared];
    all[threadIdx.x % shared] = out[threadIdx.x];
    __syncthreads();
    own[0] += all[(threadIdx.x + 1) % shared] + table[n % 1000];
  }
  for (int i = 0; i < n; ++i) own[i % stack] += own[(i * n) % stack];
  for (int i = 0; i < stack; ++i) out[i] = own[i];
}
template <int live> __global__ void wide(float* out) {
  float values[live];
#pragma unroll
  for (int i = 0; i < live; ++i) values[i] = out[i * 32 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < live; ++i) out[i * 32 + threadIdx.x] = values[(i * 7 + 3) % live] * values[live - 1 - i];
}
)";

std::vector<std::string> sized_kernels() {
  std::vector<std::string> expressions;
  for (const int threads : {64, 256, 1024}) {
    for (const int shared : {0, 100, 3000, 12288}) {
      expressions.push_back("sized<" + std::to_string(threads) + ", " + std::to_string(shared) +
                            ", 20>");
    }
  }
  for (const int live : {4, 20, 36, 60, 100, 180})
    expressions.push_back("wide<" + std::to_string(live) + ">");
  return expressions;
}

TEST_F(ImageGpuTest, FiguresOfKernelsAreTheDrivers) {
  const auto asked = program(sizes, sized_kernels());
  for (const auto& expression : sized_kernels()) {
    const Kernel kernel = runtime().kernel(asked, expression).value();
    const auto told = kernel.attributes().value();
    EXPECT_EQ(told.registers, attribute(kernel, CU_FUNC_ATTRIBUTE_NUM_REGS)) << expression;
    EXPECT_EQ(told.shared_bytes, attribute(kernel, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES))
        << expression;
    EXPECT_EQ(told.local_bytes, attribute(kernel, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES))
        << expression;
    EXPECT_EQ(told.constant_bytes, attribute(kernel, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES))
        << expression;
    EXPECT_EQ(told.max_threads_per_block,
              attribute(kernel, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK))
        << expression;
    EXPECT_EQ(told.binary_version, attribute(kernel, CU_FUNC_ATTRIBUTE_BINARY_VERSION))
        << expression;
    EXPECT_EQ(kernel.info().registers, told.registers) << expression;
    EXPECT_EQ(kernel.info().shared_bytes, told.shared_bytes) << expression;
    EXPECT_EQ(kernel.info().local_bytes, told.local_bytes) << expression;
  }
}

TEST_F(ImageGpuTest, OccupancyIsWhatTheDriverCalculates) {
  const auto asked = program(sizes, sized_kernels());
  const auto device = gpu::Machine::get().driver->current_device().value();
  for (const auto& expression : sized_kernels()) {
    const Kernel kernel = runtime().kernel(asked, expression).value();
    check(functions().kernel_set_attribute(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100,
                                           kernel.native_handle(), device));
    const auto most = kernel.attributes()->max_threads_per_block;
    for (std::uint32_t threads = 32; threads <= most; threads += 32) {
      const auto told = occupancy(kernel.arch(), kernel.info(), threads);
      ASSERT_TRUE(told.has_value());
      EXPECT_EQ(told->blocks, kernel.blocks_per_multiprocessor(threads).value())
          << expression << " of " << threads;
    }
  }
}

TEST_F(ImageGpuTest, OnesForOtherDevicesAreRefusedByTheirNames) {
  for (const char* arch : {"sm_80", "sm_100", "sm_120"}) {
    if (arch_of_device() == arch) continue;
    const auto refused =
        runtime().kernel(program(filling, {"fill"}), "fill", Target::parse(arch).value());
    ASSERT_FALSE(refused.has_value()) << arch;
    EXPECT_EQ(refused.error().vendor_code, CUDA_ERROR_NO_BINARY_FOR_GPU) << refused.error().message;
    EXPECT_NE(refused.error().message.find(arch), std::string::npos) << refused.error().message;
  }
}

TEST_F(ImageGpuTest, PtxIsCompiledByTheDriver) {
  const auto kernel = runtime().kernel(program(filling, {"fill"}), "fill",
                                       Target::parse("compute_75", ImageKind::ptx).value());
  ASSERT_TRUE(kernel.has_value()) << kernel.error().message;
  EXPECT_EQ(kernel->image_kind(), "ptx");
  expect_filled(*kernel);
  int* const none = nullptr;
  EXPECT_FALSE(kernel->launch(nullptr, {}, none, 5.0).has_value())
      << "the driver tells what PTX does not";
}

TEST_F(ImageGpuTest, PtxFromTheFutureIsRefused) {
  const auto refused = runtime().module_of_image(
      ".version 99.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n",
      "later.ptx");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().vendor_code, CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
      << refused.error().message;
}

// What is cut short is refused before the driver sees it; what is damaged within may be refused by either, or be code that
// nobody launches. The driver must not fall over it, since kiln checks that reading stays within.
TEST_F(ImageGpuTest, DamagedOnesDoNotBringTheProcessDown) {
  const auto artifact =
      runtime()
          .compile(program(sizes, {"sized<64, 100, 20>"}), Target::parse("native").value())
          .value();
  const std::string image(std::string_view(artifact.image));
  std::uint64_t random = 1;
  const auto next = [&] {
    return (random = random * 6364136223846793005ULL + 1442695040888963407ULL) >> 33;
  };
  int taken = 0;
  for (int round = 0; round < 200; ++round) {
    std::string damaged = image;
    for (int bit = 0; bit < 4; ++bit)
      damaged[next() % damaged.size()] ^= static_cast<char>(1U << next() % 8);
    const auto module = runtime().module_of_image(damaged, "damaged" + std::to_string(round));
    taken += module.has_value();
    const auto cut = runtime().module_of_image(image.substr(0, next() % image.size()),
                                               "cut" + std::to_string(round));
    EXPECT_FALSE(cut.has_value());
  }
  RecordProperty("taken", taken);
  const Kernel fill = kernel(filling, "fill");
  expect_filled(fill);
}

TEST_F(ImageGpuTest, AFatbinHoldsTheOneForThisDevice) {
  if (!runtime().packer().available) GTEST_SKIP() << runtime().packer().reason;
  const auto fatbin =
      runtime().fatbin(program(filling, {"fill"}),
                       {Target::parse("sm_80").value(), Target::parse(arch_of_device()).value(),
                        Target::parse("compute_75", ImageKind::ptx).value()});
  ASSERT_TRUE(fatbin.has_value()) << fatbin.error().message;
  const auto module = runtime().module(*fatbin);
  ASSERT_TRUE(module.has_value()) << module.error().message;
  expect_filled(module->kernel("fill").value());
}

TEST_F(ImageGpuTest, ALinkOfTwoProgramsRuns) {
  if (!runtime().linker().available) GTEST_SKIP() << runtime().linker().reason;
  const auto part = [&](const std::string& source, std::vector<std::string> kernels) {
    return Program::make({.name = "part.cu",
                          .source = source,
                          .kernels = std::move(kernels),
                          .options = {"-rdc=true"}})
        .value();
  };
  const std::string arch = arch_of_device();
  for (const auto kind : {ImageKind::cubin, ImageKind::ltoir}) {
    const auto target = Target::parse(arch, kind).value();
    const auto twice = part("__device__ int twice(int x) { return 2 * x; }", {});
    const auto fill = part(
        "__device__ int twice(int);\nextern \"C\" __global__ void fill(int* x, int y) "
        "{ x[threadIdx.x] = twice(y) - y + threadIdx.x; }",
        {"fill"});
    const auto linked = runtime().link({.name = "test.link",
                                        .inputs = {runtime().compile(twice, target).value(),
                                                   runtime().compile(fill, target).value()},
                                        .target = Target::parse(arch).value()});
    ASSERT_TRUE(linked.has_value()) << linked.error().message << linked.error().log;
    expect_filled(runtime().module(*linked)->kernel("fill").value());
  }
}

}  // namespace
}  // namespace kiln
