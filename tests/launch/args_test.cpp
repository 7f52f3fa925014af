#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "allocations.h"
#include "kiln/launch.h"
#include "launch/kernel_record.h"

namespace kiln {
namespace {

struct alignas(16) Five {
  float values[5];
};
struct alignas(64) Wide {
  std::array<char, 128> bytes;
};
struct Plain {
  int number;
  char letter;
};
enum class Small : std::uint8_t { one = 1 };

static_assert(arg_kind<bool>() == ArgKind::boolean);
static_assert(arg_kind<signed char>() == ArgKind::int8);
static_assert(arg_kind<std::int16_t>() == ArgKind::int16);
static_assert(arg_kind<std::int32_t>() == ArgKind::int32);
static_assert(arg_kind<std::int64_t>() == ArgKind::int64);
static_assert(arg_kind<long long>() == ArgKind::int64);
static_assert(arg_kind<std::uint8_t>() == ArgKind::uint8);
static_assert(arg_kind<std::uint16_t>() == ArgKind::uint16);
static_assert(arg_kind<std::uint32_t>() == ArgKind::uint32);
static_assert(arg_kind<unsigned long>() == ArgKind::uint64);
static_assert(arg_kind<unsigned long long>() == ArgKind::uint64);
static_assert(arg_kind<char32_t>() == ArgKind::uint32);
static_assert(arg_kind<Small>() == ArgKind::uint8);
static_assert(arg_kind<Half>() == ArgKind::half);
static_assert(arg_kind<BFloat16>() == ArgKind::bfloat16);
static_assert(arg_kind<float>() == ArgKind::float32);
static_assert(arg_kind<double>() == ArgKind::float64);
static_assert(arg_kind<float*>() == ArgKind::pointer);
static_assert(arg_kind<const void*>() == ArgKind::pointer);
static_assert(arg_kind<std::nullptr_t>() == ArgKind::pointer);
static_assert(arg_kind<Plain>() == ArgKind::structure);
static_assert(arg_kind<std::array<int, 3>>() == ArgKind::array);
static_assert(arg_kind<std::span<const float>>() == ArgKind::array);
static_assert(arg_kind<Float8E4M3>() == ArgKind::float8_e4m3);
static_assert(arg_kind<Float8E5M2>() == ArgKind::float8_e5m2);

template <class T>
void expect_holds(const ArgView& view, const T& value) {
  EXPECT_EQ(view.kind, arg_kind<T>());
  EXPECT_EQ(view.alignment, alignof(T));
  ASSERT_EQ(view.bytes.size(), sizeof(T));
  EXPECT_EQ(std::memcmp(view.bytes.data(), &value, sizeof(T)), 0);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.bytes.data()) % alignof(T), 0U);
}

bool lies_inside(const Args& args, const void* address) {
  const auto* begin = reinterpret_cast<const char*>(&args);
  return address >= begin && address < begin + sizeof(args);
}

TEST(ArgsTest, HoldsACopyOfEachAlignedAsItsTypeIs) {
  bool flag = true;
  std::int64_t number = -7;
  Five five{{1, 2, 3, 4, 5}};
  Wide wide{};
  wide.bytes.fill('w');
  Plain plain{};  // Padding included, as the bytes are compared.
  const int target = 0;
  Args args(flag, number, Half(1.5F), five, 'c', wide, plain, &target);
  flag = false;
  number = 0;

  ASSERT_EQ(args.size(), 8U);
  EXPECT_TRUE(args.fits());
  expect_holds(args[0], true);
  expect_holds(args[1], std::int64_t{-7});
  expect_holds(args[2], Half(1.5F));
  expect_holds(args[3], five);
  expect_holds(args[4], 'c');
  expect_holds(args[5], wide);
  expect_holds(args[6], plain);
  expect_holds(args[7], &target);
}

TEST(ArgsTest, ANullPointerIsEightZeroBytes) {
  const Args args(nullptr);
  expect_holds(args[0], static_cast<const void*>(nullptr));
}

TEST(ArgsTest, ACopyIsIndependentOfItsOriginal) {
  const Five five{{1, 2, 3, 4, 5}};
  auto original = std::make_unique<Args>(1, 2.0, five);
  const Args copy(*original);
  EXPECT_EQ(copy, *original);
  original->add(3);
  EXPECT_NE(copy, *original);
  original.reset();
  expect_holds(copy[0], 1);
  expect_holds(copy[2], five);
  for (std::size_t position = 0; position < copy.size(); ++position) {
    EXPECT_TRUE(lies_inside(copy, copy[position].bytes.data()));
  }
}

TEST(ArgsTest, AMovedFromOneIsEmptyAndCanBeUsedAgain) {
  Args from(1, 2);
  Args to(std::move(from));
  EXPECT_EQ(to, Args(1, 2));
  EXPECT_EQ(from.size(), 0U);  // NOLINT(bugprone-use-after-move): this is what is promised.
  from.add(3);
  EXPECT_EQ(from, Args(3));
  to = std::move(from);
  EXPECT_EQ(to, Args(3));
}

TEST(ArgsTest, EqualityLooksAtKindAlignmentAndBytes) {
  EXPECT_EQ(Args(1, 2.0F), Args(1, 2.0F));
  EXPECT_NE(Args(1, 2.0F), Args(1, 3.0F));
  EXPECT_NE(Args(1), Args(1U));
  EXPECT_NE(Args(1), Args(1, 1));
  EXPECT_EQ(Args(), Args());
}

TEST(ArgsTest, TakesNothingFromTheHeapForOrdinaryLaunches) {
  const std::size_t before = allocation_count();
  Args args;
  for (std::size_t index = 0; index < Args::inline_count; ++index) args.add(index);
  Args copy(args);
  const Args moved(std::move(copy));
  const Args large(std::array<char, Args::inline_bytes>{});
  EXPECT_EQ(allocation_count(), before);
  EXPECT_EQ(moved, args);
}

TEST(ArgsTest, GrowsInNumberBeyondItsOwnStorage) {
  Args args;
  constexpr std::uint32_t count = 1000;
  for (std::uint32_t index = 0; index < count; ++index) args.add(index);
  const Args copy(args);
  Args moved(std::move(args));
  ASSERT_EQ(copy.size(), count);
  EXPECT_EQ(copy, moved);
  EXPECT_EQ(args.size(), 0U);  // NOLINT(bugprone-use-after-move): this is what is promised.
  for (std::uint32_t index = 0; index < count; ++index) expect_holds(copy[index], index);
  moved = Args(1);
  EXPECT_EQ(moved, Args(1));
}

TEST(ArgsTest, GrowsInBytesUpToWhatCudaTakes) {
  Args args(char{'a'}, std::array<char, 2000>{}, Wide{});
  expect_holds(args[0], 'a');
  expect_holds(args[2], Wide{});

  Args largest(std::array<char, Args::max_bytes>{});
  EXPECT_TRUE(largest.fits());
  largest.add('x');
  EXPECT_FALSE(largest.fits());
  EXPECT_EQ(largest.size(), 2U);
  expect_holds(largest[0], std::array<char, Args::max_bytes>{});
  EXPECT_NE(largest, Args(std::array<char, Args::max_bytes>{}));
}

TEST(ArgsTest, ASpanIsItsElementsByValue) {
  std::array<float, 3> numbers{1, 2, 3};
  const Args args(true, std::span<const float>(numbers), std::span<float, 3>(numbers));
  numbers.fill(0);
  const std::array<float, 3> expected{1, 2, 3};
  EXPECT_EQ(args, Args(true, expected, expected));
  EXPECT_EQ(Args(std::span<const float>())[0].bytes.size(), sizeof(float));
  EXPECT_EQ(Args(std::array<float, 0>())[0].bytes.size(), sizeof(float));
  EXPECT_EQ(Args(std::span<const std::byte>())[0].bytes.size(), 0U);
}

TEST(ArgsTest, NothingIsTakenAfterWhatDidNotFit) {
  Args args(1);
  args.add(std::array<char, Args::max_bytes>{}).add(2);
  EXPECT_EQ(args.size(), 3U);
  EXPECT_FALSE(args.fits());
}

TEST(ArgsTest, OneArgumentCanBeReplaced) {
  const float* pointer = nullptr;
  Args args(1, 2.5F, pointer);
  ASSERT_TRUE(args.set(1, -7.0F).has_value());
  ASSERT_TRUE(args.set(0, 9U).has_value()) << "another type of the same size and alignment";
  EXPECT_EQ(args, Args(9U, -7.0F, pointer));
  Args large(args);
  large.add(std::array<char, 4000>{});
  ASSERT_TRUE(large.set(0, -1).has_value());
  expect_holds(large[0], -1);
  expect_holds(args[0], 9U);
}

TEST(ArgsTest, WhatDoesNotFitInItsPlaceIsNotReplaced) {
  Args args(1, 2.5F);
  const auto wide = args.set(1, 2.5);
  ASSERT_FALSE(wide.has_value());
  EXPECT_EQ(wide.error().code, ErrorCode::argument_mismatch);
  EXPECT_EQ(wide.error().message,
            "argument 2 of 2 is 4 bytes aligned to 4 (float); one of 8 bytes aligned to 8 (double) "
            "cannot replace it, as it would move the others");
  const auto beyond = args.set(2, 1);
  ASSERT_FALSE(beyond.has_value());
  EXPECT_EQ(beyond.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(beyond.error().message, "there is no argument 3 to replace: there are 2");
  EXPECT_EQ(args, Args(1, 2.5F));
}

TEST(ArgsTest, PrintsTypesAndValues) {
  const std::array<int, 3> numbers{1, -2, 3};
  const Args args(true, std::int8_t{-5}, 7U, Half(1.5F), Float8E4M3(448.0F), 0.5, numbers);
  EXPECT_EQ(to_string(args).substr(0, 36), "(bool true, signed char -5, unsigned");
  EXPECT_NE(to_string(args).find("kiln::Half 1.5, kiln::Float8E4M3 448, double 0.5, "),
            std::string::npos);
  EXPECT_NE(to_string(args).find(" {1, -2, 3})"), std::string::npos);
  std::ostringstream stream;
  stream << Args(reinterpret_cast<const void*>(0x1230), Small::one, std::array<char, 30>{});
  EXPECT_NE(stream.str().find(" 0x1230, "), std::string::npos) << stream.str();
  EXPECT_NE(stream.str().find("Small 1, "), std::string::npos) << stream.str();
  EXPECT_NE(stream.str().find("{0, 0, 0, 0, 0, 0, 0, 0, … 30 in all}"), std::string::npos);
  EXPECT_NE(to_string(Args(Wide{})).find("{128 bytes: 00 00 "), std::string::npos);
  EXPECT_EQ(to_string(Args()), "()");
}

TEST(ArgsTest, TellsTheTypeOfEach) {
  const Args args(1.5F, Half(1.0F), Plain{});
  EXPECT_EQ(args[0].type, "float");
  EXPECT_EQ(args[1].type, "kiln::Half");
  EXPECT_NE(args[2].type.find("Plain"), std::string_view::npos);
}

TEST(ArgsTest, NamesEveryKind) {
  EXPECT_STREQ(to_string(ArgKind::boolean), "bool");
  EXPECT_STREQ(to_string(ArgKind::uint64), "uint64");
  EXPECT_STREQ(to_string(ArgKind::bfloat16), "bfloat16");
  EXPECT_STREQ(to_string(ArgKind::float64), "double");
  EXPECT_STREQ(to_string(ArgKind::structure), "structure");
}

CUresult CUDAAPI launch_nothing(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                                unsigned, unsigned, CUstream, void**, void**) {
  return CUDA_SUCCESS;
}

CUresult CUDAAPI no_device_attribute(int*, CUdevice_attribute, CUdevice) {
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI no_kernel_attribute(int*, CUfunction_attribute, CUkernel, CUdevice) {
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI some_context(CUcontext* context) {
  *context = reinterpret_cast<CUcontext>(0x1000);
  return CUDA_SUCCESS;
}

TEST(KernelTest, ALaunchTakesNothingFromTheHeap) {
  vendor::Driver::Functions functions;
  functions.launch_kernel = launch_nothing;
  functions.device_get_attribute = no_device_attribute;
  functions.kernel_get_attribute = no_kernel_attribute;
  functions.ctx_get_current = some_context;
  KernelRecord record;
  record.info.expression = "kernel";
  record.info.params_known = true;
  record.info.params = {{0, 8}, {8, 4}, {16, 32}, {64, 128}};
  record.driver = std::make_shared<const vendor::Driver>(functions, "none", 12000);
  const Kernel kernel(record);
  const Args args(nullptr, 1.0F, Five{}, Wide{});

  const std::size_t before = allocation_count();
  const auto one_by_one =
      kernel.launch(nullptr, {.grid = {4}, .block = {128}}, nullptr, 1.0F, Five{}, Wide{});
  const auto together = kernel.launch(nullptr, {.grid = {4}, .block = {128}}, args);
  EXPECT_EQ(allocation_count(), before);
  EXPECT_TRUE(one_by_one.has_value());
  EXPECT_TRUE(together.has_value());
}

}  // namespace
}  // namespace kiln
