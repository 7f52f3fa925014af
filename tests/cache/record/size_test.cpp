#include "kiln/size.h"

#include <limits>

#include <gtest/gtest.h>

namespace kiln {
namespace {

constexpr std::uint64_t kib = 1024;

TEST(Size, TakesWhatPeopleWrite) {
  EXPECT_EQ(parse_bytes("0"), 0u);
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  EXPECT_EQ(parse_bytes("7B"), 7u);
  EXPECT_EQ(parse_bytes("3k"), 3 * kib);
  EXPECT_EQ(parse_bytes("500M"), 500 * kib * kib);
  EXPECT_EQ(parse_bytes("500MB"), 500 * kib * kib);
  EXPECT_EQ(parse_bytes("5GiB"), 5 * kib * kib * kib);
  EXPECT_EQ(parse_bytes("5 gib"), 5 * kib * kib * kib);
  EXPECT_EQ(parse_bytes("2T"), 2 * kib * kib * kib * kib);
}

TEST(Size, TakesFractions) {
  EXPECT_EQ(parse_bytes("1.5G"), 3 * kib * kib * kib / 2);
  EXPECT_EQ(parse_bytes("0.125K"), 128u);
  EXPECT_EQ(parse_bytes("1.7"), 1u);
  EXPECT_EQ(parse_bytes("0.00000000000000000000000000000000001T"), 0u);
}

TEST(Size, RefusesEverythingElse) {
  for (const char* text : {"", " ", "M", "-1", "+1", "1,5G", "1.G", ".5G", "5X", "5KK", "5GiBs",
                           "5  G", " 5G", "5G ", "0x10", "1e3", "1.5.5", "5iB", "inf"}) {
    EXPECT_FALSE(parse_bytes(text)) << text;
  }
}

TEST(Size, RefusesWhatIsTooLarge) {
  EXPECT_EQ(parse_bytes("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_FALSE(parse_bytes("18446744073709551616"));
  EXPECT_FALSE(parse_bytes("99999999999999999999999999"));
  EXPECT_EQ(parse_bytes("16777215T"), std::uint64_t{16777215} << 40);
  EXPECT_FALSE(parse_bytes("16777216T"));
}

}  // namespace
}  // namespace kiln
