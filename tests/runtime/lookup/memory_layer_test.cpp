// How much the memory layer keeps, and what it drops first.

#include "lookup/memory_layer.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace kiln::test {
namespace {

Digest number(char which) { return digest_of(std::string(1, which)); }

void put(MemoryLayer& layer, char which, std::size_t bytes) {
  auto artifact = std::make_shared<Artifact>();
  artifact->key = number(which);
  artifact->image = Bytes(std::string(bytes, which));
  layer.put(number(which), {}, {}, {}, artifact);
}

bool holds(MemoryLayer& layer, char which) {
  const auto any = [](const DependencySet&, const Toolchain&, const Witness*, const SignedTexts*) {
    return true;
  };
  return layer.find(number(which), {}, any) != nullptr;
}

TEST(MemoryLayer, DropsFirstWhatWasUsedLongestAgo) {
  MemoryLayer layer(30);
  for (const char which : {'a', 'b', 'c'}) put(layer, which, 10);
  EXPECT_TRUE(holds(layer, 'a'));
  put(layer, 'd', 10);
  EXPECT_FALSE(holds(layer, 'b'));
  EXPECT_TRUE(holds(layer, 'a') && holds(layer, 'c') && holds(layer, 'd'));
}

TEST(MemoryLayer, HoldsNoMoreThanItIsLimitedToAndMoreWhenItMay) {
  MemoryLayer layer(30);
  for (const char which : {'a', 'b', 'c'}) put(layer, which, 10);
  layer.limit_to(20);
  EXPECT_FALSE(holds(layer, 'a'));
  EXPECT_TRUE(holds(layer, 'b') && holds(layer, 'c'));
  layer.limit_to(40);
  put(layer, 'd', 10);
  put(layer, 'e', 10);
  EXPECT_TRUE(holds(layer, 'b') && holds(layer, 'c') && holds(layer, 'd') && holds(layer, 'e'));
}

TEST(MemoryLayer, KeepsOneThatIsLargerThanAll) {
  MemoryLayer layer(5);
  put(layer, 'a', 10);
  EXPECT_TRUE(holds(layer, 'a'));
}

}  // namespace
}  // namespace kiln::test
