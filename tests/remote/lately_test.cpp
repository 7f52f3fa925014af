#include "lately.h"

#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/digest.h"

namespace kiln::remote {
namespace {

const Digest request = digest_of("a request");
constexpr std::size_t most_asked_for = 8;

TEST(Lately, HoldsHintsAndThatThereAreNone) {
  Lately lately;
  EXPECT_FALSE(lately.hints(request, most_asked_for)) << "nothing was heard";
  lately.keep(request, {}, most_asked_for);
  ASSERT_TRUE(lately.hints(request, most_asked_for));
  EXPECT_TRUE(lately.hints(request, most_asked_for)->empty()) << "nothing is there";
  lately.keep(request, {{"object", "record"}}, most_asked_for);
  ASSERT_EQ(lately.hints(request, most_asked_for)->size(), 1U) << "what was heard last counts";
  EXPECT_EQ(lately.hints(request, most_asked_for)->front().record, "record");
  EXPECT_FALSE(lately.hints(digest_of("another"), most_asked_for));
}

TEST(Lately, ForgetsOneRequest) {
  Lately lately;
  lately.keep(request, {}, most_asked_for);
  lately.keep(digest_of("another"), {}, most_asked_for);
  lately.forget(request);
  EXPECT_FALSE(lately.hints(request, most_asked_for));
  EXPECT_TRUE(lately.hints(digest_of("another"), most_asked_for));
}

TEST(Lately, HoldsABoundedNumberOfRequests) {
  Lately lately;
  for (std::size_t at = 0; at <= Lately::most_requests; ++at)
    lately.keep(digest_of(std::to_string(at)), {}, most_asked_for);
  EXPECT_FALSE(lately.hints(digest_of("0"), most_asked_for));
  EXPECT_TRUE(lately.hints(digest_of(std::to_string(Lately::most_requests)), most_asked_for));
}

// Whoever writes into a store says how large they are.
TEST(Lately, HoldsBoundedBytesOfHints) {
  Lately lately;
  const std::string large(Lately::most_bytes_of_hints / 4, 'x');
  for (int at = 0; at < 12; ++at) {
    const auto each = digest_of(std::to_string(at));
    lately.keep(each, {{"object", large}}, most_asked_for);
    EXPECT_TRUE(lately.hints(each, most_asked_for));
  }
  int held = 0;
  for (int at = 0; at < 12; ++at)
    held += lately.hints(digest_of(std::to_string(at)), most_asked_for) ? 1 : 0;
  EXPECT_LT(held, 4);
  lately.keep(request, {{"one", large}, {"two", large + large + large}}, most_asked_for);
  EXPECT_FALSE(lately.hints(request, most_asked_for)) << "these alone are too many";
}

TEST(Lately, KnowsNoMoreHintsThanWereAskedFor) {
  Lately lately;
  lately.keep(request, {{"one", "record"}, {"two", "record"}}, 2);
  EXPECT_TRUE(lately.hints(request, 2));
  EXPECT_FALSE(lately.hints(request, 3)) << "there may be a third";
  lately.keep(request, {{"one", "record"}}, Lately::any_number);
  EXPECT_TRUE(lately.hints(request, 3)) << "there were no more";
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

TEST(Lately, ForgetsOneObject) {
  Lately lately;
  lately.keep("name", "four");
  lately.keep("other", "five!");
  lately.forget_object("name");
  lately.forget_object("unknown");
  EXPECT_FALSE(lately.object("name", 4));
  EXPECT_EQ(lately.object("other", 5), "five!");
  lately.keep("name", "new!");
  lately.keep("name", "newer");
  EXPECT_EQ(lately.object("name", 5), "newer") << "what came first may be damaged";
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
