#include "lately.h"

#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/digest.h"

namespace kiln::remote {
namespace {

const Digest request = digest_of("a request");

TEST(Lately, HoldsHintsAndThatThereAreNone) {
  Lately lately;
  EXPECT_FALSE(lately.hints(request)) << "nothing was heard";
  lately.keep(request, {});
  ASSERT_TRUE(lately.hints(request));
  EXPECT_TRUE(lately.hints(request)->empty()) << "nothing is there";
  lately.keep(request, {{"object", "record"}});
  ASSERT_EQ(lately.hints(request)->size(), 1U) << "what was heard last counts";
  EXPECT_EQ(lately.hints(request)->front().record, "record");
  EXPECT_FALSE(lately.hints(digest_of("another")));
}

TEST(Lately, ForgetsOneRequest) {
  Lately lately;
  lately.keep(request, {});
  lately.keep(digest_of("another"), {});
  lately.forget(request);
  EXPECT_FALSE(lately.hints(request));
  EXPECT_TRUE(lately.hints(digest_of("another")));
}

TEST(Lately, HoldsABoundedNumberOfRequests) {
  Lately lately;
  for (std::size_t at = 0; at <= Lately::most_requests; ++at)
    lately.keep(digest_of(std::to_string(at)), {});
  EXPECT_FALSE(lately.hints(digest_of("0")));
  EXPECT_TRUE(lately.hints(digest_of(std::to_string(Lately::most_requests))));
}

TEST(Lately, HoldsTheObjectsThatWereAskedForLast) {
  Lately lately;
  const std::string third(Lately::most_bytes / 3, 'x');
  for (const auto* name : {"a", "b", "c"}) lately.keep(name, third);
  EXPECT_TRUE(lately.object("a", third.size()));
  lately.keep("d", third);
  EXPECT_TRUE(lately.object("a", third.size()));
  EXPECT_FALSE(lately.object("b", third.size())) << "nobody asked for it for the longest time";
  EXPECT_EQ(lately.object("d", third.size()), third);
}

TEST(Lately, GivesNoObjectThatIsTooLargeForWhoAsks) {
  Lately lately;
  lately.keep("name", "four");
  EXPECT_FALSE(lately.object("name", 3));
  EXPECT_EQ(lately.object("name", 4), "four");
  lately.keep("large", std::string(Lately::most_bytes + 1, 'x'));
  EXPECT_FALSE(lately.object("large", ~std::uint64_t{0}));
  EXPECT_TRUE(lately.object("name", 4)) << "what does not fit drives nothing out";
}

}  // namespace
}  // namespace kiln::remote
