#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "kiln/launch.h"

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

}  // namespace
}  // namespace kiln
