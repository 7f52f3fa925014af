// Looking without serving: what has something in common with a request, and what would be found.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/cache.h"
#include "support.h"

namespace kiln {
namespace {

using test::as_found;
using test::find;
using test::make_plain_sample;
using test::make_sample;
using test::Sample;

class AlikeTest : public ::testing::Test {
 protected:
  Cache open() { return Cache::open(folder_.path()).value(); }

  static Sample of(int number, const std::string& program, const std::string& source) {
    Sample sample = make_plain_sample(number);
    sample.source = source;
    sample.request.program = sample.artifact.program = program;
    sample.request.source = digest_of(source);
    sample.request.source_bytes = source.size();
    return sample;
  }

  static std::vector<std::string> options_of(const std::vector<StoredRequest>& entries) {
    std::vector<std::string> options;
    for (const auto& entry : entries) options.push_back(entry.request.options.back());
    return options;
  }

  test::TemporaryFolder folder_;
};

TEST_F(AlikeTest, GivesTheRequestThenItsSourceThenItsName) {
  Cache cache = open();
  const Sample asked = of(1, "a.cu", "one");
  for (const Sample& sample :
       {asked, of(2, "a.cu", "two"), of(3, "b.cu", "one"), of(4, "b.cu", "two"),
        of(5, "a.cu", "one"), of(6, "a.cu", "three")}) {
    ASSERT_TRUE(cache.put(sample.entry()));
  }
  const auto alike = cache.alike(asked.request).value();
  EXPECT_EQ(options_of(alike),
            (std::vector<std::string>{"-DN=1", "-DN=5", "-DN=3", "-DN=6", "-DN=2"}));
  EXPECT_EQ(alike[0].key, as_found(asked).key);
  EXPECT_EQ(alike[0].request, asked.request);
  EXPECT_EQ(alike[0].toolchain.identity, asked.toolchain.identity);
  EXPECT_EQ(alike[0].toolchain.text, asked.toolchain.text);
}

TEST_F(AlikeTest, GoesNoFurtherThanItsLimits) {
  Cache cache = open();
  for (int number = 0; number < 20; ++number) {
    ASSERT_TRUE(cache.put(of(number, "a.cu", "source " + std::to_string(number)).entry()));
  }
  const Sample asked = of(99, "a.cu", "another");
  EXPECT_EQ(cache.alike(asked.request)->size(), 20u);
  EXPECT_EQ(options_of(cache.alike(asked.request, {.entries = 3}).value()),
            (std::vector<std::string>{"-DN=19", "-DN=18", "-DN=17"}));
}

// More than one step, and the one that is looked for stands at the end.
TEST_F(AlikeTest, LooksAtAsManyRowsAsItMay) {
  Cache cache = open();
  ASSERT_TRUE(cache.put(of(0, "oldest.cu", "the oldest").entry()));
  test::run_sql(cache.file(),
                "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 1201) "
                "INSERT INTO entries SELECT i, randomblob(16), randomblob(16), toolchain, "
                "randomblob(16), NULL, 0, 0, 0, 0, arch, kind, toolchain_text, 'other.cu', x'', "
                "x'' FROM entries, n WHERE id = 1");
  const Sample asked = of(1, "oldest.cu", "another");
  EXPECT_EQ(cache.alike(asked.request)->size(), 1u);
  EXPECT_EQ(cache.alike(asked.request, {.rows = 500})->size(), 0u);
}

TEST_F(AlikeTest, LeavesOutWhatIsDamaged) {
  Cache cache = open();
  const Sample asked = of(1, "a.cu", "one");
  ASSERT_TRUE(cache.put(asked.entry()));
  ASSERT_TRUE(cache.put(of(2, "a.cu", "one").entry()));
  test::run_sql(cache.file(), "UPDATE entries SET material = x'00' WHERE id = 2");
  EXPECT_EQ(options_of(cache.alike(asked.request).value()), std::vector<std::string>{"-DN=1"});
}

TEST_F(AlikeTest, GivesTheHeadersOfAnEntry) {
  Cache cache = open();
  const Sample sample = make_sample(1);
  ASSERT_TRUE(cache.put(sample.entry()));
  EXPECT_EQ(cache.dependencies(as_found(sample).key).value(), sample.dependencies);
  EXPECT_EQ(cache.dependencies(digest_of("none")).error().code, ErrorCode::not_found);
  test::run_sql(cache.file(), "UPDATE dependency_sets SET frame = x'00'");
  EXPECT_EQ(cache.dependencies(as_found(sample).key).error().code, ErrorCode::io_failed);
}

TEST_F(AlikeTest, APeekFindsTheSameAndCountsNothing) {
  Cache cache = open();
  const Sample sample = make_sample(1);
  const auto take = [&](bool accepted, MissReason& why) {
    return cache.peek(
        sample.request, sample.witness.roots, [&](const Candidate&) { return accepted; }, &why);
  };
  MissReason why = MissReason::none;
  EXPECT_FALSE(take(true, why));
  EXPECT_EQ(why, MissReason::absent);
  ASSERT_TRUE(cache.put(sample.entry()));
  EXPECT_FALSE(take(false, why));
  EXPECT_EQ(why, MissReason::unfit);
  const auto peeked = take(true, why);
  ASSERT_TRUE(peeked);
  EXPECT_EQ(why, MissReason::none);
  EXPECT_TRUE(test::same_artifact(*peeked, as_found(sample)));
  test::run_sql(cache.file(), "UPDATE entries SET payload = x'00'");
  EXPECT_FALSE(take(true, why));
  EXPECT_EQ(why, MissReason::damaged);
  EXPECT_EQ(cache.counters().hits() + cache.counters().misses(), 0u);
  EXPECT_EQ(cache.counters()[Counter::damaged_rows], 0u);
  EXPECT_EQ(cache.list()->size(), 1u) << "what is damaged is left for a look-up to remove";
}

}  // namespace
}  // namespace kiln
