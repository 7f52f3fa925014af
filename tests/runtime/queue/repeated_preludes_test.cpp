#include "queue/repeated_preludes.h"

#include <chrono>
#include <set>

#include <gtest/gtest.h>

namespace kiln::test {
namespace {

using std::chrono::microseconds;

TEST(RepeatedPreludes, AreWorthItOnceTheirProgramsTookSoLong) {
  RepeatedPreludes preludes(microseconds(100));
  const auto one = digest_of("one");
  EXPECT_FALSE(preludes.meet(one));
  preludes.took(one, microseconds(60));
  EXPECT_FALSE(preludes.meet(one));
  preludes.took(one, microseconds(40));
  EXPECT_TRUE(preludes.meet(one));
  EXPECT_FALSE(preludes.meet(digest_of("two"))) << "each by what its own took";
}

TEST(RepeatedPreludes, AreMadeOfTheSecondWhereNothingIsAskedOfThem) {
  RepeatedPreludes preludes(microseconds(0));
  EXPECT_FALSE(preludes.meet(digest_of("one")));
  EXPECT_TRUE(preludes.meet(digest_of("one")));
}

TEST(RepeatedPreludes, AreWorthItAtOnceWhileMoreAreExpected) {
  RepeatedPreludes preludes(std::chrono::hours(1));
  const auto one = digest_of("one");
  {
    const RepeatedPreludes::Scope expecting(preludes, std::set{one});
    EXPECT_TRUE(preludes.meet(one));
  }
  EXPECT_FALSE(preludes.meet(one));
}

}  // namespace
}  // namespace kiln::test
