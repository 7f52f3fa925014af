// Modules on a real GPU: their variables, tensor maps that kernels are given, and captured streams.

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "gpu.h"
#include "kiln/module.h"

namespace kiln {
namespace {

using gpu::check;
using gpu::DeviceBytes;

class ModuleGpuTest : public gpu::GpuTest {
 protected:
  static constexpr const char* adding =
      "extern \"C\" __global__ void add(int* x, int y) { *x += y; }";
};

TEST_F(ModuleGpuTest, VariablesAreWrittenForKernelsAndReadAfterThem) {
  const auto counting = program(R"(
namespace engine { __constant__ float table[4]; }
__device__ int count;
extern "C" __global__ void sum(float* out) {
  *out = engine::table[0] + engine::table[1] + engine::table[2] + engine::table[3];
  atomicAdd(&count, 5);
})",
                                {"sum", "&engine::table", "&count"});
  const Module module = runtime().module(counting).value();
  const Variable table = module.variable("&engine::table").value();
  const Variable count = module.variable("count").value();
  EXPECT_EQ(table.size(), 4 * sizeof(float));
  ASSERT_TRUE(table.set(std::array{1.0F, 2.0F, 3.0F, 4.5F}).has_value());
  ASSERT_TRUE(count.set(37).has_value());
  const DeviceBytes out(sizeof(float));
  ASSERT_TRUE(module.kernel("sum")->launch(nullptr, {}, out.as<float>()).has_value());
  EXPECT_EQ(count.get<int>().value(), 42);
  EXPECT_EQ(out.read<float>(1)[0], 10.5F);
}

TEST_F(ModuleGpuTest, ATensorMapIsAnArgument) {
  if (device_is_below(9)) GTEST_SKIP() << "tensor maps need compute capability 9.0";
  const Kernel load = kernel(R"(
struct alignas(64) TensorMap { unsigned long long words[16]; };
extern "C" __global__ void load(int* out, const __grid_constant__ TensorMap map, int x, int y) {
  __shared__ alignas(128) int tile[8 * 32];
  __shared__ alignas(8) unsigned long long barrier;
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(tile));
  const unsigned done = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(done));
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(done),
                 "r"(static_cast<unsigned>(sizeof(tile))));
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(&map), "r"(x), "r"(y), "r"(done)
        : "memory");
  }
  __syncthreads();
  unsigned ready = 0;
  while (ready == 0) {
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
        : "=r"(ready)
        : "r"(done)
        : "memory");
  }
  out[threadIdx.x] = tile[threadIdx.x];
})",
                             "load");
  constexpr std::uint64_t width = 64;
  constexpr std::uint64_t height = 16;
  std::vector<int> values(width * height);
  std::iota(values.begin(), values.end(), 100);
  const DeviceBytes tensor(values);
  const DeviceBytes out(8 * 32 * sizeof(int));
  CUtensorMap map{};
  const std::array sizes{width, height};
  const std::array strides{width * sizeof(int)};
  const std::array<std::uint32_t, 2> box{32, 8};
  const std::array<std::uint32_t, 2> steps{1, 1};
  check(functions().tensor_map_encode(
      &map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, tensor.as<void>(), sizes.data(), strides.data(),
      box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
      CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  const auto launched = load.launch(nullptr, {.block = {256}}, out.as<int>(), map, 16, 4);
  ASSERT_TRUE(launched.has_value()) << launched.error().message;
  const auto tile = out.read<int>(256);
  for (int row = 0; row < 8; ++row) {
    for (int column = 0; column < 32; ++column) {
      ASSERT_EQ(tile[row * 32 + column], values[(row + 4) * width + column + 16]) << row;
    }
  }
}

TEST_F(ModuleGpuTest, LaunchesAreCapturedAndAMissLeavesTheCaptureWhole) {
  const auto adding_program = program(adding, {"add"});
  const Kernel add = runtime().kernel(adding_program, "add").value();
  const auto missing =
      program("extern \"C\" __global__ void twice(int* x) { *x *= 2; }", {"twice"});
  const DeviceBytes out(sizeof(int));
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  check(functions().stream_create(&stream, CU_STREAM_DEFAULT));
  check(functions().stream_begin_capture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_TRUE(add.launch(stream, {}, out.as<int>(), 3).has_value());
  const auto twice = runtime().kernel(missing, "twice");
  // A driver before 12.3 would have the capture spoilt.
  const bool loads = gpu::Machine::get().driver->version() >= 12030;
  EXPECT_EQ(twice.has_value(), loads);
  if (twice) {
    EXPECT_TRUE(twice->launch(stream, {}, out.as<int>()).has_value());
  } else {
    EXPECT_EQ(twice.error().code, ErrorCode::capturing) << twice.error().message;
  }
  EXPECT_TRUE(add.launch(stream, {}, out.as<int>(), 4).has_value());
  check(functions().stream_end_capture(stream, &graph));
  EXPECT_EQ(out.read<int>(1)[0], 0) << "nothing has run yet";
  check(functions().graph_instantiate(&executable, graph, 0));
  check(functions().graph_launch(executable, stream));
  check(functions().graph_launch(executable, stream));
  EXPECT_EQ(out.read<int>(1)[0], loads ? (3 * 2 + 4 + 3) * 2 + 4 : 14);
  EXPECT_TRUE(runtime().kernel(missing, "twice").has_value()) << "afterwards it is loaded";
  check(functions().graph_exec_destroy(executable));
  check(functions().graph_destroy(graph));
  check(functions().stream_destroy(stream));
}

TEST_F(ModuleGpuTest, WhatIsLoadedBeforehandLaunchesInACaptureForTheFirstTime) {
  const auto adding_program = program(adding, {"add"});
  const std::array programs{adding_program};
  ASSERT_TRUE(runtime().load_all(programs).has_value());
  const DeviceBytes out(sizeof(int));
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  check(functions().stream_create(&stream, CU_STREAM_DEFAULT));
  check(functions().stream_begin_capture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  const auto add = runtime().kernel(adding_program, "add");
  EXPECT_TRUE(add.has_value() && add->launch(stream, {}, out.as<int>(), 3).has_value());
  check(functions().stream_end_capture(stream, &graph));
  check(functions().graph_destroy(graph));
  check(functions().stream_destroy(stream));
}

}  // namespace
}  // namespace kiln
