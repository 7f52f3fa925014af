#include "rows/tally_file.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rows/history.h"
#include "rows/tally.h"
#include "support.h"

namespace kiln::storage {
namespace {

CacheCounters hits(std::uint64_t count) {
  CacheCounters counters;
  counters.values[static_cast<std::size_t>(Counter::hits_local)] = count;
  return counters;
}

TEST(TallyFile, ReadsWhatItWrites) {
  auto counters = hits(std::numeric_limits<std::uint64_t>::max());
  counters.values[static_cast<std::size_t>(Counter::saved_us)] = 1;
  const std::vector<DayCounters> days{{0, hits(3)}, {20781, counters}};
  EXPECT_EQ(tally_text(days), "0 hits_local=3\n20781 hits_local=18446744073709551615 saved_us=1\n");
  EXPECT_EQ(parse_tally(tally_text(days)), days);
  EXPECT_EQ(parse_tally(""), std::vector<DayCounters>());
}

TEST(TallyFile, LeavesOutCountersOfALaterVersion) {
  const std::vector<DayCounters> days{{20781, hits(2)}};
  EXPECT_EQ(parse_tally("20781 hits_local=2 hits_of_tomorrow=9\n"), days);
}

TEST(TallyFile, TakesNothingElse) {
  for (const char* text :
       {"nonsense\n", "20781 hits_local=2", "20781 hits_local=\n", "20781 hits_local=-1\n",
        "20781 hits_local=18446744073709551616\n", "-1 hits_local=1\n", "20781 hits_local\n",
        "20781  hits_local=1\n", "20781 hits_local=1 \n", "20781 hits_local=1x\n", "\n",
        "99999999999999999999 hits_local=1\n", "2 hits_local=1\n2 hits_local=1\n",
        "2 hits_local=1\n1 hits_local=1\n"}) {
    EXPECT_FALSE(parse_tally(text)) << text;
  }
}

TEST(TallyFile, KeepsTheDaysOfAYearAndTheSumOfThoseBefore) {
  const test::TemporaryFolder temporary;
  const auto& folder = temporary.path();
  const auto today = this_day();
  const std::vector<DayCounters> old{
      {10, hits(1)}, {today - days_kept - 1, hits(2)}, {today - days_kept, hits(4)}};
  test::write_file(folder / tally_file_name, tally_text(old));
  ASSERT_TRUE(add_to_tally_file(folder, {}, hits(8)));
  ASSERT_TRUE(add_to_tally_file(folder, {}, hits(16)));
  const std::vector<DayCounters> expected{
      {older_days, hits(3)}, {today - days_kept, hits(4)}, {today, hits(24)}};
  EXPECT_EQ(read_tally_file(folder, {}).value(), expected);
}

TEST(TallyFile, ASumStaysWithinItsRange) {
  auto sum = hits(std::numeric_limits<std::uint64_t>::max() - 1);
  add(sum, hits(5));
  EXPECT_EQ(sum, hits(std::numeric_limits<std::uint64_t>::max()));
}

}  // namespace
}  // namespace kiln::storage
