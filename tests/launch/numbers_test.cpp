#include "kiln/numbers.h"

#include <cuda_fp8.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace kiln {
namespace {

template <class Number>
class NumberTest : public testing::Test {};

using Numbers = testing::Types<Half, BFloat16>;
TYPED_TEST_SUITE(NumberTest, Numbers);

TYPED_TEST(NumberTest, EveryValueSurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto number = TypeParam::from_bits(static_cast<std::uint16_t>(bits));
    const float value = static_cast<float>(number);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam(value)))) << bits;
    } else {
      EXPECT_EQ(TypeParam(value), number) << bits;
    }
  }
}

TYPED_TEST(NumberTest, RoundsToNearestAndTiesToEven) {
  for (std::uint16_t bits = 0;; ++bits) {
    const auto lower = TypeParam::from_bits(bits);
    const auto upper = TypeParam::from_bits(static_cast<std::uint16_t>(bits + 1));
    const auto high = static_cast<float>(upper);
    if (std::isinf(high)) break;
    const float middle = static_cast<float>(lower) + (high - static_cast<float>(lower)) / 2;
    const float below = std::nextafterf(middle, 0);
    const float above = std::nextafterf(middle, high);
    const auto even = bits % 2 == 0 ? lower : upper;
    // Between two subnormal bfloat16 numbers lie floats enough, so this holds for all.
    ASSERT_EQ(TypeParam(middle), even) << bits;
    ASSERT_EQ(TypeParam(-middle).bits, even.bits | 0x8000) << bits;
    ASSERT_EQ(TypeParam(below), lower) << bits;
    ASSERT_EQ(TypeParam(above), upper) << bits;
  }
}

TYPED_TEST(NumberTest, KeepsSignsInfinitiesAndNaNs) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(TypeParam(-0.0F).bits, 0x8000);
  EXPECT_EQ(static_cast<float>(TypeParam(infinity)), infinity);
  EXPECT_EQ(static_cast<float>(TypeParam(-infinity)), -infinity);
  EXPECT_EQ(static_cast<float>(TypeParam(std::numeric_limits<float>::max())), infinity);
  EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam(std::nanf("")))));
  EXPECT_TRUE(
      std::isnan(static_cast<float>(TypeParam(std::numeric_limits<float>::signaling_NaN()))));
}

TEST(HalfTest, HoldsWhatTheStandardSays) {
  EXPECT_EQ(Half(1.0F).bits, 0x3c00);
  EXPECT_EQ(Half(-2.0F).bits, 0xc000);
  EXPECT_EQ(Half(65504.0F).bits, 0x7bff);
  EXPECT_EQ(Half(65519.0F).bits, 0x7bff);
  EXPECT_EQ(Half(65520.0F).bits, 0x7c00);
  EXPECT_EQ(Half(0x1p-24F).bits, 0x0001);
  EXPECT_EQ(Half(0x1p-25F).bits, 0x0000);
  EXPECT_EQ(Half(0x1.8p-25F).bits, 0x0001);
  EXPECT_EQ(Half(1.0F / 3).bits, 0x3555);
}

TEST(BFloat16Test, HoldsTheUpperHalfOfAFloat) {
  EXPECT_EQ(BFloat16(1.0F).bits, 0x3f80);
  EXPECT_EQ(BFloat16(-2.0F).bits, 0xc000);
  EXPECT_EQ(BFloat16(1.0F / 3).bits, 0x3eab);
}

/// CUDA's own conversions, as its headers have them for the host.
struct E4M3 {
  using Ours = Float8E4M3;
  static constexpr __nv_fp8_interpretation_t interpretation = __NV_E4M3;
};
struct E5M2 {
  using Ours = Float8E5M2;
  static constexpr __nv_fp8_interpretation_t interpretation = __NV_E5M2;
};

template <class Format>
class Float8Test : public testing::Test {
 protected:
  using Ours = typename Format::Ours;

  static void expect_cudas(std::uint32_t bits) {
    const auto value = std::bit_cast<float>(bits);
    const auto theirs = __nv_cvt_float_to_fp8(value, __NV_SATFINITE, Format::interpretation);
    ASSERT_EQ(Ours(value).bits, theirs) << std::hex << bits;
  }
};

using Formats = testing::Types<E4M3, E5M2>;
TYPED_TEST_SUITE(Float8Test, Formats);

TYPED_TEST(Float8Test, EveryNumberIsThatOfCuda) {
  for (unsigned bits = 0; bits <= 0xff; ++bits) {
    const auto ours =
        static_cast<float>(TypeParam::Ours::from_bits(static_cast<std::uint8_t>(bits)));
    const __half_raw half =
        __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(bits), TypeParam::interpretation);
    const auto theirs = static_cast<float>(Half::from_bits(half.x));
    EXPECT_TRUE(std::isnan(theirs) ? std::isnan(ours) : ours == theirs) << bits;
    if (std::isnan(ours) || std::isinf(ours)) continue;
    EXPECT_EQ(typename TypeParam::Ours(ours).bits, bits);
  }
}

// Each float that could round otherwise: all upper halves, with the lower half at its ends and about its
// middle.
TYPED_TEST(Float8Test, EveryFloatIsRoundedAsCudaRoundsIt) {
  for (std::uint32_t upper = 0; upper <= 0xffff; ++upper) {
    for (const std::uint32_t lower : {0x0000U, 0x0001U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
      this->expect_cudas(upper << 16 | lower);
    }
  }
}

TYPED_TEST(Float8Test, TooLargeIsTheLargest) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  using Ours = typename TypeParam::Ours;
  EXPECT_EQ(Ours(infinity), Ours(std::numeric_limits<float>::max()));
  EXPECT_FALSE(std::isinf(static_cast<float>(Ours(infinity))));
  EXPECT_EQ(static_cast<float>(Ours(-infinity)), -static_cast<float>(Ours(infinity)));
  EXPECT_EQ(Ours(std::nanf("")).bits, 0x7f);
  EXPECT_EQ(Ours(-std::nanf("")).bits, 0x7f);
}

}  // namespace
}  // namespace kiln
