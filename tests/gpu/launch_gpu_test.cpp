// Launches on a real GPU: what kernels find in their parameters, and what every way of launching does.

#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "gpu.h"
#include "kiln/graph.h"
#include "kiln/launch.h"
#include "launch/config_fields.h"

namespace kiln {
namespace {

static_assert(std::tuple_size_v<decltype(test::fields_of(LaunchConfig()))> == 14,
              "one that is added wants to be launched with here");

using gpu::check;
using gpu::DeviceBytes;

class LaunchGpuTest : public gpu::GpuTest {};

struct alignas(64) Map {
  std::array<std::uint64_t, 16> words;
};
struct alignas(16) Wide {
  std::array<float, 5> values;
};

constexpr const char* copying = R"(
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
struct alignas(64) Map { unsigned long long words[16]; };
struct alignas(16) Wide { float values[5]; };
struct Three { int values[3]; };
template <class T> __device__ void put(unsigned char* out, int slot, const T& value) {
  const unsigned char* bytes = reinterpret_cast<const unsigned char*>(&value);
  for (int i = 0; i < sizeof(T); ++i) out[slot * 128 + i] = bytes[i];
}
extern "C" __global__ void copy(
    unsigned char* out, bool flag, signed char i8, unsigned char u8, short i16, unsigned short u16,
    int i32, unsigned u32, long long i64, unsigned long long u64, __half half, __nv_bfloat16 bfloat16,
    __nv_fp8_e4m3 e4m3, __nv_fp8_e5m2 e5m2, float f32, double f64, void* pointer, Three three,
    Wide wide, const __grid_constant__ Map map, char last) {
  put(out, 0, flag); put(out, 1, i8); put(out, 2, u8); put(out, 3, i16); put(out, 4, u16);
  put(out, 5, i32); put(out, 6, u32); put(out, 7, i64); put(out, 8, u64); put(out, 9, half);
  put(out, 10, bfloat16); put(out, 11, e4m3); put(out, 12, e5m2); put(out, 13, f32);
  put(out, 14, f64); put(out, 15, pointer); put(out, 16, three); put(out, 17, wide);
  put(out, 18, map); put(out, 19, last);
}
)";

template <class... Ts>
void expect_slots(const std::vector<std::uint8_t>& seen, const Ts&... values) {
  std::size_t slot = 0;
  (
      [&](const auto& value) {
        EXPECT_EQ(std::memcmp(seen.data() + slot * 128, &value, sizeof(value)), 0) << slot;
        ++slot;
      }(values),
      ...);
}

TEST_F(LaunchGpuTest, EveryKindOfArgumentIsFoundByTheKernel) {
  const Kernel copy = kernel(copying, "copy");
  Map map{};
  std::iota(map.words.begin(), map.words.end(), 0x0123456789abcdefULL);
  const Wide wide{{1, 2, 3, 4, 5}};
  const std::array<int, 3> three{7, -8, 9};
  void* const pointer = reinterpret_cast<void*>(0x7f1234567890);
  const auto with_values = [&](const auto& use) {
    use(true, std::int8_t{-128}, std::uint8_t{255}, std::int16_t{-32768}, std::uint16_t{65535}, -5,
        6U, std::int64_t{-7}, std::uint64_t{8}, Half(1.5F), BFloat16(-3.25F), Float8E4M3(448.0F),
        Float8E5M2(-0.5F), 0.1F, 0.1, pointer, three, wide, map, 'z');
  };
  const LaunchConfig config{.grid = {1}, .block = {1}};
  with_values([&](const auto&... values) {
    const DeviceBytes one_by_one(20 * 128);
    const DeviceBytes together(20 * 128);
    ASSERT_TRUE(copy.launch(nullptr, config, one_by_one.as<void>(), values...).has_value());
    const Args args(together.as<void>(), values...);
    ASSERT_TRUE(copy.launch(nullptr, config, args).has_value());
    expect_slots(one_by_one.read<std::uint8_t>(20 * 128), values...);
    expect_slots(together.read<std::uint8_t>(20 * 128), values...);
  });
}

TEST_F(LaunchGpuTest, MoreThanFourKibibytesOfParametersArrive) {
  if (gpu::Machine::get().driver->version() < 12010) GTEST_SKIP() << "they came with CUDA 12.1";
  const Kernel copy = kernel(R"(
struct Large { int values[8000]; };
extern "C" __global__ void copy(int* out, const __grid_constant__ Large large, int last) {
  for (int i = threadIdx.x; i < 8000; i += blockDim.x) out[i] = large.values[i];
  if (threadIdx.x == 0) out[8000] = last;
})",
                             "copy");
  std::array<int, 8000> large;
  std::iota(large.begin(), large.end(), 17);
  const DeviceBytes out(8001 * sizeof(int));
  ASSERT_TRUE(copy.launch(nullptr, {.block = {256}}, out.as<int>(), large, -1).has_value());
  auto expected = std::vector<int>(large.begin(), large.end());
  expected.push_back(-1);
  EXPECT_EQ(out.read<int>(8001), expected);
}

TEST_F(LaunchGpuTest, DynamicSharedMemoryBeyond48KibibytesIsThere) {
  const Kernel reverse = kernel(R"(
extern "C" __global__ void reverse(int* out, int n) {
  extern __shared__ int shared[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) shared[i] = i;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = shared[n - 1 - i];
})",
                                "reverse");
  const std::uint32_t bytes = reverse.attributes().value().max_dynamic_shared_bytes;
  ASSERT_GT(bytes, 48U * 1024);
  const int n = static_cast<int>(bytes / sizeof(int));
  const DeviceBytes out(bytes);
  const LaunchConfig config{.block = {512}, .shared_bytes = bytes};
  ASSERT_TRUE(reverse.launch(nullptr, config, out.as<int>(), n).has_value());
  const auto seen = out.read<int>(static_cast<std::size_t>(n));
  EXPECT_EQ(seen.front(), n - 1);
  EXPECT_EQ(seen.back(), 0);
  EXPECT_GE(reverse.blocks_per_multiprocessor(512, bytes).value(), 1U);
}

TEST_F(LaunchGpuTest, BlocksOfAClusterReadEachOthersMemory) {
  if (device_is_below(9)) GTEST_SKIP() << "clusters need compute capability 9.0";
  const Kernel ranks = kernel(R"(
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void ranks(int* out) {
  __shared__ int own;
  cg::cluster_group cluster = cg::this_cluster();
  own = blockIdx.x;
  cluster.sync();
  const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
  out[blockIdx.x] = *cluster.map_shared_rank(&own, next);
  cluster.sync();
})",
                              "ranks");
  for (const std::uint32_t size : {2U, 4U, 8U, 16U}) {
    const LaunchConfig config{.grid = {32}, .block = {1}, .cluster = {size}};
    if (size > ranks.max_cluster_blocks(config).value_or(8)) continue;
    const DeviceBytes out(32 * sizeof(int));
    const auto launched = ranks.launch(nullptr, config, out.as<int>());
    ASSERT_TRUE(launched.has_value()) << launched.error().message;
    const auto seen = out.read<int>(32);
    for (int block = 0; block < 32; ++block) {
      const int first = block / static_cast<int>(size) * static_cast<int>(size);
      EXPECT_EQ(seen[block], first + (block - first + 1) % static_cast<int>(size));
    }
    EXPECT_GE(ranks.max_active_clusters(config).value(), 1U);
  }
}

TEST_F(LaunchGpuTest, ACooperativeGridSynchronises) {
  const Kernel sum = kernel(R"(
#include <cooperative_groups.h>
extern "C" __global__ void sum(int* parts, int* out) {
  parts[blockIdx.x] = blockIdx.x + 1;
  cooperative_groups::this_grid().sync();
  int total = 0;
  for (int i = 0; i < gridDim.x; ++i) total += parts[i];
  out[blockIdx.x] = total;
})",
                            "sum");
  const DeviceBytes parts(64 * sizeof(int));
  const DeviceBytes out(64 * sizeof(int));
  const LaunchConfig config{.grid = {64}, .block = {1}, .cooperative = true};
  const auto launched = sum.launch(nullptr, config, parts.as<int>(), out.as<int>());
  ASSERT_TRUE(launched.has_value()) << launched.error().message;
  EXPECT_EQ(out.read<int>(64), std::vector<int>(64, 64 * 65 / 2));
  const LaunchConfig too_large{.grid = {1U << 20}, .block = {1024}, .cooperative = true};
  const auto refused = sum.launch(nullptr, too_large, parts.as<int>(), out.as<int>());
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("blocks of this kernel at once"), std::string::npos);
}

TEST_F(LaunchGpuTest, ADependentLaunchSeesWhatItWaitsFor) {
  if (device_is_below(9)) GTEST_SKIP() << "dependent launches need compute capability 9.0";
  const Kernel first = kernel(R"(
extern "C" __global__ void first(int* values) {
  asm volatile("griddepcontrol.launch_dependents;");
  for (int i = 0; i < 1000; ++i) __nanosleep(100);
  values[blockIdx.x] = blockIdx.x + 1;
})",
                              "first");
  const Kernel second = kernel(R"(
extern "C" __global__ void second(const int* values, int* out) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  out[blockIdx.x] = 2 * values[blockIdx.x];
})",
                               "second");
  const DeviceBytes values(32 * sizeof(int));
  const DeviceBytes out(32 * sizeof(int));
  CUstream stream = nullptr;
  check(functions().stream_create(&stream, CU_STREAM_NON_BLOCKING));
  const LaunchConfig config{.grid = {32}, .block = {1}};
  LaunchConfig dependent = config;
  dependent.programmatic_serialization = true;
  EXPECT_TRUE(first.launch(stream, config, values.as<int>()).has_value());
  EXPECT_TRUE(second.launch(stream, dependent, values.as<int>(), out.as<int>()).has_value());
  const auto seen = out.read<int>(32);
  for (int block = 0; block < 32; ++block) EXPECT_EQ(seen[block], 2 * (block + 1));
  check(functions().stream_destroy(stream));
}

TEST_F(LaunchGpuTest, PreferencesAreTakenByTheDriver) {
  const Kernel fill = kernel("extern \"C\" __global__ void fill(int* x) { *x = 1; }", "fill");
  const DeviceBytes out(sizeof(int));
  for (const LaunchConfig& config :
       {LaunchConfig{.priority = 0}, LaunchConfig{.memory_sync_domain = MemorySyncDomain::remote},
        LaunchConfig{.shared_carveout = std::uint8_t{50}}}) {
    const auto launched = fill.launch(per_thread_default_stream, config, out.as<int>());
    EXPECT_TRUE(launched.has_value()) << launched.error().message;
  }
  EXPECT_TRUE(fill.launch(legacy_default_stream, {}, out.as<int>()).has_value());
  EXPECT_EQ(out.read<int>(1)[0], 1);
}

TEST_F(LaunchGpuTest, NodesOfAGraphLaunchAndAreUpdated) {
  const Kernel add = kernel("extern \"C\" __global__ void add(int* x, int y) { *x += y; }", "add");
  const DeviceBytes out(sizeof(int));
  const LaunchConfig config{.grid = {1}, .block = {1}};
  Args args(out.as<int>(), 1);
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  check(functions().graph_create(&graph, 0));
  const CUgraphNode first = add_kernel_node(graph, {}, add, config, args).value();
  ASSERT_TRUE(args.set(1, 10).has_value());
  const std::array dependencies{first};
  const CUgraphNode second = add_kernel_node(graph, dependencies, add, config, args).value();
  check(functions().graph_instantiate(&executable, graph, 0));
  check(functions().graph_launch(executable, legacy_default_stream));
  EXPECT_EQ(out.read<int>(1)[0], 11);
  ASSERT_TRUE(args.set(1, 100).has_value());
  ASSERT_TRUE(set_kernel_node(executable, second, add, config, args).has_value());
  check(functions().graph_launch(executable, legacy_default_stream));
  EXPECT_EQ(out.read<int>(1)[0], 11 + 101);
  check(functions().graph_exec_destroy(executable));
  check(functions().graph_destroy(graph));
}

TEST_F(LaunchGpuTest, LimitsAndOccupancyAreTheDrivers) {
  const Kernel fill = kernel("extern \"C\" __global__ void fill(int* x) { *x = 1; }", "fill");
  const auto attributes = fill.attributes().value();
  EXPECT_GE(attributes.max_threads_per_block, 1024U);
  EXPECT_EQ(attributes.registers, fill.info().registers);
  const auto best = fill.best_block_size().value();
  EXPECT_GE(best.threads, 32U);
  EXPECT_GE(best.min_blocks, 1U);
  EXPECT_GE(fill.blocks_per_multiprocessor(best.threads).value(), 1U);
  EXPECT_FALSE(fill.launch(nullptr, {.block = {2048}}, nullptr).has_value());
}

}  // namespace
}  // namespace kiln
