#include "rows/entry_reader.h"

#include <gtest/gtest.h>

namespace kiln::storage {
namespace {

TEST(MatchMaterial, TellsAnotherRequestOfTheSameDigestFromADamagedOne) {
  EXPECT_EQ(match_material("asked", "asked", digest_of("asked")), MaterialMatch::same);
  EXPECT_EQ(match_material("damaged", "asked", digest_of("asked")), MaterialMatch::damaged);
  // Stands for a collision: the stored material has the digest that was looked for.
  EXPECT_EQ(match_material("other", "asked", digest_of("other")), MaterialMatch::another);
}

}  // namespace
}  // namespace kiln::storage
