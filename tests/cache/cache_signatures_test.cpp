// Who made an entry, and whose word counts.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/cache.h"
#include "kiln/signing.h"
#include "signatures_fixture.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

using test::make_sample;
using test::Signatures;
using test::trust;
using testing::HasSubstr;

TEST_F(Signatures, ServeWhereTheirKeyIsTrusted) {
  const auto bundle = signed_bundle({1, 2}, farm_);
  EXPECT_EQ(look(bundle, trust({farm_}), 1), "served");
  EXPECT_EQ(look(bundle, trust({next_, farm_}), 2), "served");
  EXPECT_EQ(look(bundle, trust({farm_}), 3), "missed");
  EXPECT_EQ(look(bundle, {}), "served") << "nobody asks";
  EXPECT_EQ(look(bundle, trust({next_})), "untrusted");
  EXPECT_EQ(look(bundle, trust({stranger_})), "untrusted") << "of the same name";
}

TEST_F(Signatures, AreMissedOnceInWordsAndCountedEachTime) {
  const auto bundle = bundle_of({1, 2}, {}, {});
  std::vector<std::string> told;
  CacheOptions options{.trusted_keys = trust({farm_})};
  options.on_fault = [&](std::string_view what) { told.emplace_back(what); };
  auto cache = Cache::open_bundle(bundle, options).value();
  EXPECT_EQ(look_in(cache, 1), "untrusted");
  EXPECT_EQ(look_in(cache, 2), "untrusted");
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told[0], HasSubstr("'scale.cu' in '" + bundle.string() + "'"));
  EXPECT_THAT(told[0], HasSubstr("KILN_TRUSTED_KEYS"));
  Cache counting = open("counting");
  counting.count_miss(MissReason::untrusted);
  EXPECT_EQ(counting.counters()[Counter::misses_untrusted], 1U);
}

TEST_F(Signatures, KeysAreReplacedByTrustingBothForAWhile) {
  const auto old = signed_bundle({1}, farm_);
  const auto both = out_ / "both.kiln";
  auto cache = open("c");
  auto source = Cache::open_bundle(old).value();
  ASSERT_TRUE(cache.import(source));
  const auto report = cache.export_bundle(both, {.signing_key = next_});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->signed_entries, 1U);
  for (const auto& key : {farm_, next_}) {
    EXPECT_EQ(look(both, trust({key})), "served") << key.public_key().name;
  }
  EXPECT_EQ(look(old, trust({next_})), "untrusted") << "farm-1 is trusted no more";
  auto bundle = Cache::open_bundle(both).value();
  const auto key = test::as_found(make_sample(1)).key;
  EXPECT_EQ(bundle.signers(key).value(), (std::vector<std::string>{"farm-1", "farm-2"}));
}

TEST_F(Signatures, AnExportSignsWhatHasItsTexts) {
  const auto bundle = bundle_of({1, 2}, {}, {.signing_key = farm_});
  EXPECT_EQ(look(bundle, trust({farm_}), 2), "served");
  const auto without = bundle_of({1}, {}, {.without_sources = true, .signing_key = farm_});
  EXPECT_EQ(look(without, trust({farm_})), "served");

  Cache cache = make_cache("torn", {1});
  run_sql("torn", "DELETE FROM texts");
  const auto report = cache.export_bundle(out_ / "torn.kiln", {.signing_key = farm_});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->signed_entries, 0U);
  ASSERT_EQ(report->skipped.size(), 1U);
  EXPECT_EQ(report->skipped[0].what, "signature");
  EXPECT_EQ(look(out_ / "torn.kiln", trust({farm_})), "untrusted");
}

TEST_F(Signatures, TheSameContentSignedByOneKeyGivesTheSameBytes) {
  EXPECT_EQ(test::read_file(bundle_of({2, 1}, {}, {.signing_key = farm_})),
            test::read_file(bundle_of({1, 2}, {}, {.signing_key = farm_})));
}

TEST_F(Signatures, AnImportTakesWhatIsSignedAlone) {
  auto mixed = open("mixed", {.signing_key = farm_});
  ASSERT_TRUE(mixed.put(make_sample(1).entry()));
  ASSERT_TRUE(open("mixed").put(make_sample(2).entry()));
  const auto bundle = out_ / "mixed.kiln";
  ASSERT_TRUE(mixed.export_bundle(bundle));
  auto from = Cache::open_bundle(bundle, {.trusted_keys = trust({farm_})}).value();
  auto to = open("to");
  const auto report = to.import(from);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->added, 1U);
  ASSERT_EQ(report->skipped.size(), 1U);
  EXPECT_EQ(report->skipped[0].name, test::as_found(make_sample(2)).key.hex());
  EXPECT_THAT(report->skipped[0].problem, HasSubstr("no trusted key has signed it"));
  expect_serves(to, {1}, Origin::local);
  EXPECT_EQ(to.kernels().value().size(), 1U);
  EXPECT_EQ(to.signers(test::as_found(make_sample(1)).key).value(),
            std::vector<std::string>{"farm-1"});
  EXPECT_TRUE(to.text(make_sample(1).request.source)) << "its texts come along";
}

TEST_F(Signatures, WhatTheUserHimselfKeepsAndWhatIsInTheProgramNeedNone) {
  auto cache = make_cache("own", {1});
  ASSERT_TRUE(cache.export_bundle(out_ / "own.kiln"));
  auto own = open("own", {.trusted_keys = trust({farm_})});
  EXPECT_EQ(look_in(own, 1), "served");
  const auto bytes = test::read_file(out_ / "own.kiln");
  auto embedded =
      Cache::open_bundle(std::as_bytes(std::span(bytes)), {.trusted_keys = trust({farm_})}).value();
  EXPECT_EQ(look_in(embedded, 1), "served");
}

TEST_F(Signatures, AnEntryThatIsMadeAnewIsSignedAnew) {
  open("c", {.signing_key = farm_}).put(make_sample(1).entry()).value();
  auto cache = open("c");
  const auto key = test::as_found(make_sample(1)).key;
  EXPECT_EQ(cache.signers(key).value(), std::vector<std::string>{"farm-1"});
  auto again = make_sample(1);
  again.artifact.image = test::random_bytes(700, 77);
  ASSERT_TRUE(cache.put(again.entry()));
  EXPECT_TRUE(cache.signers(key).value().empty()) << "farm-1 did not sign this one";
}

TEST_F(Signatures, VerifyingTellsWhatIsNotAsItWasSigned) {
  auto cache = open("c", {.signing_key = farm_});
  for (const int number : {1, 2, 3, 4}) ASSERT_TRUE(cache.put(make_sample(number).entry()));
  ASSERT_TRUE(open("c", {.signing_key = next_}).put(make_sample(5).entry()));
  ASSERT_TRUE(open("c").put(make_sample(6).entry()));
  const auto key = [](int number) { return test::as_found(make_sample(number)).key.hex(); };
  // 2 gets the signature of 1, 3 another compiler's words.
  run_sql("c", "UPDATE signatures SET record = (SELECT record FROM signatures WHERE key = x'" +
                   key(1) + "') WHERE key = x'" + key(2) + "'");
  run_sql("c", "UPDATE entries SET toolchain_text = 'NVRTC 12.9' WHERE key = x'" + key(3) + "'");
  const auto report = cache.verify_signatures(trust({farm_}));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->entries, 6U);
  EXPECT_EQ(report->signers, (std::map<std::string, std::uint64_t>{{"farm-1", 2}}));
  std::map<std::string, std::string> found;
  for (const auto& finding : report->findings) found[finding.name] = finding.problem;
  const std::string untrusted = "no trusted key has signed it as it is (KILN_TRUSTED_KEYS)";
  EXPECT_EQ(
      found,
      (std::map<std::string, std::string>{
          {key(2), untrusted}, {key(3), untrusted}, {key(5), untrusted}, {key(6), untrusted}}));
  run_sql("c", "DELETE FROM texts WHERE id = (SELECT min(id) FROM texts)");
  const auto torn = cache.verify_signatures(trust({farm_, next_}));
  ASSERT_TRUE(torn);
  EXPECT_TRUE(torn->signers.empty());
  EXPECT_THAT(torn->findings[0].problem, HasSubstr("not all there"));
}

// As where one key takes the place of another.
TEST_F(Signatures, VerifyingTellsEachKeyThatSigned) {
  auto cache = open("c", {.signing_key = farm_});
  for (const int number : {1, 2}) ASSERT_TRUE(cache.put(make_sample(number).entry()));
  const auto bundle = folder_.path() / "twice.kiln";
  ASSERT_TRUE(cache.export_bundle(bundle, {.signing_key = next_}));
  auto both = Cache::open_bundle(bundle).value();
  using Signers = std::map<std::string, std::uint64_t>;
  const auto signers = [&](const TrustedKeys& keys) {
    return both.verify_signatures(keys).value().signers;
  };
  EXPECT_EQ(signers(trust({farm_, next_})),
            (Signers{{farm_.public_key().name, 2}, {next_.public_key().name, 2}}));
  EXPECT_EQ(signers(trust({next_})), (Signers{{next_.public_key().name, 2}}));
}

TEST_F(Signatures, GoWithTheirEntries) {
  auto cache = open("c", {.signing_key = farm_});
  for (const int number : {1, 2}) ASSERT_TRUE(cache.put(make_sample(number).entry()));
  EXPECT_TRUE(cache.verify(true).value().findings.empty());
  const auto key = test::as_found(make_sample(1)).key;
  ASSERT_TRUE(cache.remove({&key, 1}));
  EXPECT_TRUE(cache.verify(true).value().findings.empty());
  run_sql(
      "c",
      "INSERT INTO signatures(key, signer, record) SELECT x'00', signer, record FROM signatures");
  const auto findings = cache.verify(true).value().findings;
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].what, "signature");
  ASSERT_TRUE(cache.collect({}));
  EXPECT_TRUE(cache.verify(true).value().findings.empty());
}

TEST_F(Signatures, ADirectoryThatWasShippedOrIsOpenToOthersIsAskedForThem) {
  const auto directory = folder_.path() / "c";
  ASSERT_TRUE(open("c").put(make_sample(1).entry()));
  const auto ask = [&](CacheOptions options) {
    options.trusted_keys = trust({farm_});
    auto cache = Cache::open(directory, options);
    return cache ? look_in(*cache, 1) : cache.error().message;
  };
  EXPECT_EQ(ask({}), "served");
  EXPECT_EQ(ask({.shipped = true}), "untrusted");
  ASSERT_EQ(::chmod(directory.c_str(), 0777), 0);
  EXPECT_EQ(ask({.trust = {.others = true}}), "untrusted");
  ASSERT_EQ(::chmod(directory.c_str(), 0700), 0);
  ASSERT_EQ(::chmod((directory / "kernels.v1.db").c_str(), 0666), 0);
  EXPECT_EQ(ask({.trust = {.others = true}}), "untrusted");
}

class SignaturesOfOthers : public Signatures {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to act as other users";
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0777), 0);
    ASSERT_EQ(::chmod(out_.c_str(), 0777), 0);
  }

  static void give(const fs::path& path, unsigned owner, mode_t mode) {
    ASSERT_EQ(::chown(path.c_str(), owner, owner), 0);
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
  }
};

TEST_F(SignaturesOfOthers, ASignedBundleServesWhoeverOwnsAndWritesIt) {
  const auto bundle = signed_bundle({1}, farm_);
  give(bundle, 1234, 0666);
  const auto ask = [&](const TrustedKeys& keys) {
    return test::run_as({}, [&] { return look(bundle, keys); });
  };
  EXPECT_THAT(ask({}), HasSubstr("belongs to user 1234"));
  EXPECT_EQ(ask(trust({farm_})), "served");
  EXPECT_EQ(ask(trust({next_})), "untrusted");
}

TEST_F(SignaturesOfOthers, ASignedDirectoryServesWhoeverOwnsIt) {
  const auto directory = folder_.path() / "theirs";
  {
    auto cache = open("theirs", {.signing_key = farm_});
    ASSERT_TRUE(cache.put(make_sample(1).entry()));
    ASSERT_TRUE(open("theirs").put(make_sample(2).entry()));
  }
  give(directory, 1234, 0777);
  for (const auto& file : fs::directory_iterator(directory)) give(file.path(), 1234, 0666);
  const auto before = test::snapshot(directory);
  const auto ask = [&](const TrustedKeys& keys, int number) {
    return test::run_as({}, [&]() -> std::string {
      auto cache = Cache::open(directory, {.trusted_keys = keys});
      if (!cache) return cache.error().message;
      if (cache->put(make_sample(3).entry())) return "stored";
      return look_in(*cache, number);
    });
  };
  EXPECT_THAT(ask({}, 1), HasSubstr("belongs to user 1234"));
  EXPECT_EQ(ask(trust({farm_}), 1), "served");
  EXPECT_EQ(ask(trust({farm_}), 2), "untrusted");
  EXPECT_EQ(ask(trust({next_}), 1), "untrusted");
  EXPECT_TRUE(test::snapshot(directory) == before);
}

// SQLite carries out a journal that it finds: it writes what the journal says, with the rights of whoever opens the cache.
TEST_F(SignaturesOfOthers, NoJournalOfAnotherIsCarriedOut) {
  const auto directory = folder_.path() / "theirs";
  ASSERT_TRUE(open("theirs", {.signing_key = farm_}).put(make_sample(1).entry()));
  const auto database = directory / "kernels.v1.db";
  // The header of one with no page, which a transaction that is not finished leaves: SQLite would remove it.
  std::string journal("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8);
  journal += std::string("\0\0\0\0\0\0\0\0\0\0\0\1\0\0\2\0\0\0\x10\0", 20);
  journal.resize(512);
  test::write_file(directory / "kernels.v1.db-journal", journal);
  give(directory, 1234, 0755);
  for (const auto& file : fs::directory_iterator(directory)) give(file.path(), 1234, 0644);
  const auto bytes = test::read_file(database);
  const auto cache = Cache::open(directory, {.trust = {.owners = {1234}}});
  ASSERT_FALSE(cache);
  EXPECT_THAT(cache.error().message, HasSubstr("let that user open it once"));
  EXPECT_TRUE(test::read_file(database) == bytes);
  EXPECT_TRUE(test::read_file(directory / "kernels.v1.db-journal") == journal);
}

}  // namespace
}  // namespace kiln
