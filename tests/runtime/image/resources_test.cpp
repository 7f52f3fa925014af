// What kernels take of a GPU, against what NVIDIA's tools say of them.

#include "kiln/resources.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <ostream>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compile_fixture.h"
#include "image/cubin.h"

namespace kiln {

// What a failed test prints.
static void PrintTo(const KernelCode& code, std::ostream* out) {
  *out << code.bytes.value_or(0) << " bytes, ";
  if (!code.spills) *out << "spills not told";
  if (code.spills) *out << code.spills->store_bytes << " and " << code.spills->load_bytes;
}

}  // namespace kiln

namespace kiln::test {
namespace {

// Spills of 4 and 8 bytes; of 1, and of predicates; beside an array on the stack; in a function that is called, and in
// the kernel around the call; none, with a recursion and without.
constexpr const char* source = R"(
template <class T, int n> __device__ void churn(T* values, int step) {
  T own[n];
  for (int i = 0; i < n; ++i) own[i] = values[i * step];
  for (int k = 0; k < step; ++k)
    for (int i = 0; i < n; ++i) own[i] = own[i] * own[(i + 7) % n] + values[k];
  for (int i = 0; i < n; ++i) values[i * step] = own[i];
}
extern "C" __global__ void __launch_bounds__(1024, 2) floats(float* values, int step) {
  churn<float, 80>(values, step);
}
extern "C" __global__ void __launch_bounds__(1024, 2) doubles(double* values, int step) {
  churn<double, 40>(values, step);
}
extern "C" __global__ void __launch_bounds__(1024, 2) bytes(char* values, int step) {
  churn<char, 200>(values, step);
}
extern "C" __global__ void __launch_bounds__(1024, 2) flags(bool* values, int step) {
  bool own[100];
  for (int i = 0; i < 100; ++i) own[i] = values[i * step];
  for (int k = 0; k < step; ++k)
    for (int i = 0; i < 100; ++i) own[i] = own[i] ^ own[(i + 7) % 100] && values[k];
  for (int i = 0; i < 100; ++i) values[i * step] = own[i];
}
extern "C" __global__ void __launch_bounds__(1024, 2) stacking(double* values, int step) {
  volatile int order[64];
  for (int i = 0; i < 64; ++i) order[(i * step) % 64] = i;
  churn<double, 40>(values + order[step % 64], step);
}
__device__ __noinline__ double called(double* values, int step) {
  churn<double, 30>(values, step);
  return values[0];
}
extern "C" __global__ void __launch_bounds__(1024, 2) calling(double* values, int step) {
  double own[20];
  for (int i = 0; i < 20; ++i) own[i] = values[i * step];
  const double sum = called(values, step);
  for (int i = 0; i < 20; ++i) values[i * step] = own[i] + sum + called(values + i, step);
}
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
extern "C" __global__ void recursing(int* values) { *values = fibonacci(*values); }
extern "C" __global__ void plain(float* values) { values[threadIdx.x] *= 2; }
)";

constexpr const char* kernels[] = {"floats",   "doubles", "bytes",     "flags",
                                   "stacking", "calling", "recursing", "plain"};

/// The spills that `ptxas -v` tells in a log, by symbol.
std::map<std::string, Spills> told_by_ptxas(const std::string& log) {
  const std::regex words(
      "Function properties for (\\S+)\n[^\n]*stack frame, (\\d+) bytes spill stores, "
      "(\\d+) bytes spill loads");
  std::map<std::string, Spills> told;
  for (std::sregex_iterator at(log.begin(), log.end(), words), end; at != end; ++at)
    told[(*at)[1]] = {std::stoull((*at)[2]), std::stoull((*at)[3])};
  return told;
}

class KernelCodeTest : public CompileFixture {
 protected:
  static ProgramSpec spec(std::vector<std::string> options = {}) {
    ProgramSpec spec;
    spec.name = "spills.cu";
    spec.source = source;
    spec.kernels.assign(std::begin(kernels), std::end(kernels));
    spec.options = std::move(options);
    return spec;
  }

  static KernelCode code_of(const Artifact& artifact, std::string_view expression) {
    const auto code = kernel_code(artifact);
    return code.at(static_cast<std::size_t>(artifact.find(expression) - artifact.kernels.data()));
  }
};

TEST_F(KernelCodeTest, TellsTheSpillsThatPtxasTells) {
  for (const std::string arch : {"sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120"}) {
    for (const auto* option : {"--maxrregcount=255", "--maxrregcount=32", "--ptxas-options=-O1"}) {
      const auto artifact = try_compile(spec({"--ptxas-options=-v", option}), arch).value();
      const auto told = told_by_ptxas(artifact.log);
      std::uint64_t spilled = 0;
      for (const auto* kernel : kernels) {
        ASSERT_TRUE(told.contains(kernel)) << artifact.log;
        EXPECT_EQ(code_of(artifact, kernel).spills, told.at(kernel))
            << kernel << " for " << arch << option;
        spilled += told.at(kernel).store_bytes;
      }
      EXPECT_GT(spilled, 0U) << "nothing was tried for " << arch;
    }
  }
}

// That is why kiln does not ask ptxas: what was asked stands in the image, and the image is kept.
TEST_F(KernelCodeTest, IsToldByAnImageThatDoesNotKnowOfIt) {
  const auto artifact = try_compile(spec(), "sm_90").value();
  const auto verbose = try_compile(spec({"--ptxas-options=-v"}), "sm_90").value();
  EXPECT_EQ(artifact.log.find("spill"), std::string::npos);
  EXPECT_NE(artifact.image, verbose.image);
  EXPECT_EQ(kernel_code(artifact), kernel_code(verbose));
}

TEST_F(KernelCodeTest, IsTheSameOfAHit) {
  const auto compiled = try_compile(spec(), "sm_80").value();
  const auto hit = try_compile(spec(), "sm_80").value();
  ASSERT_EQ(hit.origin, Origin::local);
  EXPECT_EQ(kernel_code(hit), kernel_code(compiled));
}

TEST_F(KernelCodeTest, TellsNoSpillsThatAnOlderPtxasDidNotWriteDown) {
  auto artifact = try_compile(spec(), "sm_80").value();
  // What each kernel says of its ptxas: attribute 0x37, of four bytes.
  const std::string_view attribute("\x04\x37\x04\x00", 4);
  std::string image = artifact.image.string();
  std::size_t changed = 0;
  for (auto at = image.find(attribute); at != std::string::npos;
       at = image.find(attribute, at + 1)) {
    image[at + attribute.size()] = 125;
    ++changed;
  }
  ASSERT_GE(changed, std::size(kernels));
  artifact.image = image;
  EXPECT_FALSE(code_of(artifact, "doubles").spills);
  EXPECT_EQ(code_of(artifact, "plain").spills, Spills()) << "what has no stack spills nothing";
  EXPECT_GT(code_of(artifact, "doubles").bytes, 0U);
}

TEST_F(KernelCodeTest, IsUnknownOfImagesThatDoNotTell) {
  const auto ptx = try_compile(spec(), "compute_80", ImageKind::ptx).value();
  ASSERT_EQ(kernel_code(ptx).size(), std::size(kernels));
  for (const auto& code : kernel_code(ptx)) EXPECT_EQ(code, KernelCode());
}

TEST_F(KernelCodeTest, OfALinkIsThatOfItsParts) {
  auto runtime = Runtime::open(options()).value();
  const auto part = try_compile(spec({"-rdc=true"}), "sm_90").value();
  const auto linked =
      runtime.link({.name = "linked", .inputs = {part}, .target = Target::parse("sm_90").value()})
          .value();
  for (const auto* kernel : kernels)
    EXPECT_EQ(code_of(linked, kernel).spills, code_of(part, kernel).spills) << kernel;
}

// An annotation that leads nowhere: nothing is told of that kernel, and all else of it.
TEST_F(KernelCodeTest, IsNotToldByADamagedAnnotation) {
  const auto artifact = try_compile(spec(), "sm_80").value();
  const std::string image = artifact.image.string();
  const std::string_view annotations("\x04\x55", 2);
  std::size_t untold = 0;
  for (auto at = image.find(annotations); at != std::string::npos;
       at = image.find(annotations, at + 1)) {
    std::string damaged = image;
    damaged.replace(at + 8, 4, "\xff\xff\xff\x7f");
    const auto info = read_cubin(damaged);
    ASSERT_TRUE(info);
    untold += static_cast<std::size_t>(
        std::ranges::count_if(info->code, [](const KernelCode& code) { return !code.spills; }));
  }
  EXPECT_GE(untold, 5U);
}

struct Case {
  const char* arch;
  std::uint32_t registers;
  std::uint32_t shared_bytes;
  std::uint32_t threads;
  std::uint32_t blocks;
};

// The figures are those of cudaOccMaxActiveBlocksPerMultiprocessor() of CUDA 13.0's cuda_occupancy.h.
constexpr Case cases[] = {
    {"sm_70", 32, 0, 256, 8},      {"sm_70", 255, 0, 64, 4},      {"sm_72", 64, 12288, 96, 8},
    {"sm_75", 40, 0, 256, 4},      {"sm_75", 16, 8192, 32, 8},    {"sm_75", 128, 49152, 512, 1},
    {"sm_80", 32, 0, 256, 8},      {"sm_80", 33, 0, 256, 6},      {"sm_80", 255, 0, 256, 1},
    {"sm_80", 20, 49152, 128, 3},  {"sm_80", 64, 16384, 1024, 1}, {"sm_80", 24, 100, 33, 32},
    {"sm_86", 40, 0, 128, 12},     {"sm_86", 72, 20480, 192, 4},  {"sm_86", 16, 0, 32, 16},
    {"sm_87", 96, 32768, 256, 2},  {"sm_89", 48, 0, 64, 20},      {"sm_89", 168, 16384, 384, 1},
    {"sm_89", 32, 0, 1024, 1},     {"sm_90", 64, 0, 128, 8},      {"sm_90a", 168, 0, 384, 1},
    {"sm_90", 90, 40000, 160, 4},  {"sm_90", 40, 49152, 256, 4},  {"sm_100", 128, 1024, 512, 1},
    {"sm_100f", 80, 46080, 96, 4}, {"sm_103", 56, 0, 1, 32},      {"sm_110", 40, 24576, 256, 6},
    {"sm_110", 32, 0, 64, 24},     {"sm_101", 40, 24576, 256, 6}, {"sm_120", 64, 0, 1024, 1},
    {"sm_120", 65, 0, 1024, 0},    {"sm_120", 50, 33000, 224, 3}, {"sm_121", 128, 0, 128, 4},
    {"sm_121", 18, 2048, 40, 24},
};

TEST(Occupancy, IsThatOfTheDriversCalculator) {
  for (const auto& [arch, registers, shared_bytes, threads, blocks] : cases) {
    KernelInfo kernel;
    kernel.registers = registers;
    kernel.shared_bytes = shared_bytes;
    const auto reached = occupancy(arch, kernel, threads);
    ASSERT_TRUE(reached) << arch;
    EXPECT_EQ(reached->blocks, blocks)
        << arch << ' ' << registers << ' ' << shared_bytes << ' ' << threads;
    EXPECT_EQ(reached->warps, blocks * ((threads + 31) / 32));
    EXPECT_LE(reached->warps, reached->max_warps);
  }
}

TEST(Occupancy, IsAShareOfWhatAMultiprocessorHolds) {
  KernelInfo kernel;
  kernel.registers = 32;
  EXPECT_EQ(occupancy("sm_90", kernel, 256)->share(), 1.0);
  EXPECT_EQ(occupancy("sm_89", kernel, 1024)->share(), 32.0 / 48);
  EXPECT_EQ(occupancy("sm_90", kernel, 1025), (Occupancy{0, 0, 64})) << "no block is so large";
}

TEST(Occupancy, IsUnknownWhereTheArchitectureOrTheKernelIs) {
  KernelInfo kernel;
  kernel.registers = 32;
  for (const auto* arch : {"sm_52", "sm_999", "sm_80,sm_90", "fatbin", ""})
    EXPECT_FALSE(occupancy(arch, kernel, 256)) << arch;
  EXPECT_FALSE(occupancy("sm_90", KernelInfo(), 256));
}

}  // namespace
}  // namespace kiln::test
