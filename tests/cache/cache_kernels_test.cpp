// The kernels that a cache lists without its images.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/cache.h"
#include "support.h"

namespace kiln {
namespace {

using test::as_found;
using test::make_plain_sample;
using test::make_sample;
using test::Sample;

std::vector<ListedKernel> kernels_of(const Sample& sample) {
  std::vector<ListedKernel> kernels;
  for (std::size_t at = 0; at < sample.code.size(); ++at)
    kernels.push_back({sample.artifact.kernels[at], sample.code[at]});
  return kernels;
}

/// What the cache lists of this sample; empty for nothing.
std::vector<ListedKernel> listed(Cache& cache, const Sample& sample) {
  const auto all = cache.kernels().value();
  const auto found = std::ranges::find(all, as_found(sample).key, &EntryKernels::key);
  return found == all.end() ? std::vector<ListedKernel>() : found->kernels;
}

class CacheKernels : public ::testing::Test {
 protected:
  /// The findings that verify has, a line each.
  std::string findings(bool deep) {
    const auto report = cache_.verify(deep).value();
    std::string text;
    for (const auto& [what, name, problem] : report.findings) text += what + ": " + problem + "\n";
    return text;
  }

  void run_sql(const std::string& sql) { test::run_sql(cache_.file(), sql); }

  test::TemporaryFolder folder_;
  Cache cache_ = Cache::open(folder_.path() / "cache").value();
  Sample one_ = make_sample(1);
  Sample two_ = make_plain_sample(2);
};

TEST_F(CacheKernels, AreListedAsTheyWerePut) {
  EXPECT_TRUE(cache_.kernels().value().empty());
  ASSERT_TRUE(cache_.put(one_.entry()));
  ASSERT_TRUE(cache_.put(two_.entry()));
  EXPECT_EQ(cache_.kernels().value().size(), 2u);
  EXPECT_EQ(listed(cache_, one_), kernels_of(one_));
  EXPECT_EQ(listed(cache_, two_), kernels_of(two_));
  EXPECT_EQ(findings(true), "");
}

TEST_F(CacheKernels, AreListedInSteps) {
  constexpr int more_than_two_steps = 1'100;
  auto sample = two_;
  sample.artifact.image = "image";
  for (int number = 0; number < more_than_two_steps; ++number) {
    sample.request.options = {"-DN=" + std::to_string(number)};
    ASSERT_TRUE(cache_.put(sample.entry()));
  }
  EXPECT_EQ(cache_.kernels().value().size(), static_cast<std::size_t>(more_than_two_steps));
}

TEST_F(CacheKernels, ThatNobodyHasReadAreNotListed) {
  auto entry = one_.entry();
  entry.code = nullptr;
  ASSERT_TRUE(cache_.put(entry));
  EXPECT_TRUE(cache_.kernels().value().empty());
  EXPECT_EQ(findings(true), "");
}

TEST_F(CacheKernels, GoWithTheirEntry) {
  ASSERT_TRUE(cache_.put(one_.entry()));
  ASSERT_TRUE(cache_.put(two_.entry()));
  ASSERT_TRUE(cache_.pin(as_found(two_).key, true));
  ASSERT_TRUE(cache_.collect({.max_bytes = 0}));
  EXPECT_TRUE(listed(cache_, one_).empty());
  EXPECT_EQ(listed(cache_, two_), kernels_of(two_));
  ASSERT_TRUE(cache_.clear());
  EXPECT_TRUE(cache_.kernels().value().empty());
}

TEST_F(CacheKernels, ComeAlongInBundlesAndImports) {
  ASSERT_TRUE(cache_.put(one_.entry()));
  const auto file = folder_.path() / "b.kiln";
  ASSERT_TRUE(cache_.export_bundle(file));
  Cache bundle = Cache::open_bundle(file).value();
  EXPECT_EQ(listed(bundle, one_), kernels_of(one_));
  EXPECT_TRUE(bundle.verify(true).value().findings.empty());
  Cache other = Cache::open(folder_.path() / "other").value();
  ASSERT_TRUE(other.import(bundle));
  EXPECT_EQ(listed(other, one_), kernels_of(one_));
  EXPECT_TRUE(other.verify(true).value().findings.empty());
}

TEST_F(CacheKernels, AFileOfAnEarlierKilnLacksThemUntilTheNextPut) {
  ASSERT_TRUE(cache_.put(one_.entry()));
  run_sql("DROP TABLE kernels");
  EXPECT_TRUE(cache_.kernels().value().empty());
  EXPECT_EQ(findings(true), "");
  EXPECT_TRUE(test::find(cache_, one_));
  const auto file = folder_.path() / "b.kiln";
  EXPECT_EQ(cache_.export_bundle(file).value().entries, 1u);
  EXPECT_TRUE(cache_.collect({.older_than = std::chrono::hours(1)}));
  ASSERT_TRUE(cache_.put(two_.entry()));
  EXPECT_EQ(cache_.kernels().value().size(), 1u);
  EXPECT_EQ(listed(cache_, two_), kernels_of(two_));
  EXPECT_EQ(findings(true), "");
}

TEST_F(CacheKernels, AFileOfAnEarlierKilnLetsGoOfItsEntries) {
  ASSERT_TRUE(cache_.put(one_.entry()));
  run_sql("DROP TABLE kernels");
  EXPECT_EQ(cache_.clear().value().entries, 1u);
  EXPECT_EQ(findings(true), "");
}

TEST_F(CacheKernels, ThatAnEarlierKilnLeftBehindAreCollected) {
  ASSERT_TRUE(cache_.put(one_.entry()));
  ASSERT_TRUE(cache_.put(two_.entry()));
  run_sql("DELETE FROM marks WHERE entry = 1; DELETE FROM entries WHERE id = 1");
  EXPECT_NE(findings(false).find("kernels: they belong to no entry; kiln gc removes them"),
            std::string::npos)
      << findings(false);
  ASSERT_TRUE(cache_.collect({}));
  EXPECT_EQ(cache_.kernels().value().size(), 1u);
  EXPECT_EQ(findings(true), "");
}

TEST_F(CacheKernels, DamagedOnesAreLeftOutAndFound) {
  ASSERT_TRUE(cache_.put(one_.entry()));
  ASSERT_TRUE(cache_.put(two_.entry()));
  run_sql("UPDATE kernels SET frame = x'6b696c46' WHERE id = 1");
  EXPECT_EQ(cache_.kernels().value().size(), 1u);
  EXPECT_EQ(findings(false), "kernels: they fail their checksum or cannot be decoded\n");
  EXPECT_TRUE(test::find(cache_, one_));
  const auto file = folder_.path() / "b.kiln";
  ASSERT_TRUE(cache_.export_bundle(file));
  EXPECT_EQ(Cache::open_bundle(file).value().kernels().value().size(), 1u);
  ASSERT_TRUE(cache_.put(one_.entry()));
  EXPECT_EQ(findings(true), "");
}

TEST_F(CacheKernels, OfAnotherEntryAreLeftOut) {
  ASSERT_TRUE(cache_.put(one_.entry()));
  ASSERT_TRUE(cache_.put(two_.entry()));
  run_sql("UPDATE kernels SET frame = (SELECT frame FROM kernels WHERE id = 1)");
  EXPECT_EQ(cache_.kernels().value().size(), 1u);
  EXPECT_TRUE(listed(cache_, two_).empty());
}

TEST_F(CacheKernels, ThatTheirEntryDoesNotHaveAreFoundByADeepLook) {
  ASSERT_TRUE(cache_.put(one_.entry()));
  const auto record = [&] {
    auto other = one_;
    other.artifact.kernels[0].registers = 255;
    Cache elsewhere = Cache::open(folder_.path() / "elsewhere").value();
    EXPECT_TRUE(elsewhere.put(other.entry()));
    return elsewhere.file();
  }();
  run_sql("ATTACH '" + record.string() +
          "' AS other; UPDATE kernels SET frame = (SELECT frame FROM other.kernels)");
  EXPECT_EQ(findings(false), "");
  EXPECT_EQ(findings(true), "kernels: they are not those of its entry\n");
}

TEST_F(CacheKernels, WhatElseHasTheirNameCostsNothingButTheList) {
  for (const std::string definition :
       {"TABLE kernels(nonsense)", "TABLE kernels(id INTEGER PRIMARY KEY, key BLOB, frame BLOB)",
        "VIEW kernels AS SELECT id, key, payload AS frame FROM entries",
        "TABLE other(x); CREATE INDEX kernels ON other(x)"}) {
    SCOPED_TRACE(definition);
    ASSERT_TRUE(cache_.put(one_.entry()));
    run_sql("DROP TABLE kernels; CREATE " + definition);
    EXPECT_NE(findings(false).find("is defined otherwise than kiln does"), std::string::npos);
    EXPECT_TRUE(test::find(cache_, one_));
    EXPECT_TRUE(cache_.kernels().value().empty());
    EXPECT_TRUE(cache_.put(two_.entry()));
    EXPECT_TRUE(test::find(cache_, two_));
    EXPECT_TRUE(cache_.export_bundle(folder_.path() / "other.kiln", {}));
    EXPECT_TRUE(cache_.collect({}));
    EXPECT_EQ(cache_.clear().value().entries, 2u);
    const auto kind = definition.starts_with("VIEW") ? "VIEW" : "TABLE";
    run_sql(definition.find("INDEX") != std::string::npos
                ? std::string("DROP TABLE other")
                : std::string("DROP ") + kind + " kernels");
  }
  ASSERT_TRUE(cache_.put(one_.entry()));
  EXPECT_EQ(cache_.kernels().value().size(), 1u) << "made again where the name is free";
}

}  // namespace
}  // namespace kiln
