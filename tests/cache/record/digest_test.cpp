#include "kiln/digest.h"

#include <string>
#include <unordered_set>

#include <gtest/gtest.h>

namespace kiln {
namespace {

TEST(Digest, IsXxh3InCanonicalOrder) {
  EXPECT_EQ(digest_of("").hex(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(digest_of("kiln").hex(), "29e4f6aff37a6f975bfb178850627e51");
}

TEST(Digest, HexGoesBothWays) {
  const Digest digest = digest_of("some content");
  EXPECT_EQ(Digest::from_hex(digest.hex()), digest);
  EXPECT_EQ(Digest::from_hex("ABCDEF00000000000000000000000000")->hex(),
            "abcdef00000000000000000000000000");
}

TEST(Digest, FromHexTakesNothingElse) {
  EXPECT_FALSE(Digest::from_hex(""));
  EXPECT_FALSE(Digest::from_hex(std::string(31, '0')));
  EXPECT_FALSE(Digest::from_hex(std::string(33, '0')));
  EXPECT_FALSE(Digest::from_hex(std::string(31, '0') + "g"));
  EXPECT_FALSE(Digest::from_hex("0x" + std::string(30, '0')));
}

TEST(Digest, OrdersAsItsHexDoes) {
  const Digest a = digest_of("a");
  const Digest b = digest_of("b");
  EXPECT_EQ(a < b, a.hex() < b.hex());
  EXPECT_EQ(a.view().size(), 16u);
}

TEST(Digest, EmptyIsAllZero) {
  EXPECT_TRUE(Digest{}.empty());
  EXPECT_FALSE(digest_of("").empty());
}

TEST(Digest, CanBeAKeyOfUnorderedContainers) {
  std::unordered_set<Digest, DigestHash> set = {digest_of("a"), digest_of("b"), digest_of("a")};
  EXPECT_EQ(set.size(), 2u);
}

}  // namespace
}  // namespace kiln
