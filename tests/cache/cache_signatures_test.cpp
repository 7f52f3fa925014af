// Who made an entry, and whose word counts.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "bundle_fixture.h"
#include "kiln/cache.h"
#include "kiln/signing.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

using test::make_sample;
using testing::HasSubstr;

TrustedKeys trust(const std::vector<SigningKey>& keys) {
  std::string list;
  for (const auto& key : keys) list += key.public_key().text() + ",";
  return TrustedKeys::read(list).value();
}

class Signatures : public test::CacheBundle {
 protected:
  /// A bundle of these numbers, each signed when it was put.
  fs::path signed_bundle(const std::vector<int>& numbers, const SigningKey& key) const {
    return bundle_of(numbers, {.signing_key = key}, {});
  }

  fs::path bundle_of(const std::vector<int>& numbers, const CacheOptions& options,
                     const ExportOptions& exporting) const {
    static int count = 0;
    const auto name = std::to_string(++count);
    Cache cache = open("of" + name, options);
    for (const int number : numbers) EXPECT_TRUE(cache.put(make_sample(number).entry()));
    const auto bundle = out_ / (name + ".kiln");
    EXPECT_TRUE(cache.export_bundle(bundle, exporting));
    return bundle;
  }

  /// "served", or why not.
  static std::string look(const fs::path& bundle, const TrustedKeys& keys, int number = 1) {
    auto cache = Cache::open_bundle(bundle, {.trusted_keys = keys});
    return cache ? look_in(*cache, number) : cache.error().message;
  }

  static std::string look_in(Cache& cache, int number) {
    const auto sample = make_sample(number);
    MissReason why = MissReason::none;
    const auto found = cache.find(
        sample.request, sample.witness.roots,
        [&](const Candidate& candidate) { return candidate.dependencies == sample.dependencies; },
        &why);
    if (found)
      return test::same_artifact(*found, test::as_found(sample)) ? "served" : "another's image";
    return why == MissReason::untrusted ? "untrusted"
           : why == MissReason::damaged ? "damaged"
                                        : "missed";
  }

  const SigningKey farm_ = SigningKey::generate("farm-1").value();
  const SigningKey next_ = SigningKey::generate("farm-2").value();
  const SigningKey stranger_ = SigningKey::generate("farm-1").value();
};

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

// The signer's word is for the image; a stranger who changes what is told of its kernels changes nothing that serves.
TEST_F(Signatures, WhatIsToldOfKernelsIsTakenAsItWasSigned) {
  const auto bundle = signed_bundle({1, 2}, farm_);
  test::run_sql(bundle, "UPDATE kernels SET frame = (SELECT frame FROM kernels WHERE key = x'" +
                            test::as_found(make_sample(1)).key.hex() + "') WHERE id = 2");
  auto from = Cache::open_bundle(bundle, {.trusted_keys = trust({farm_})}).value();
  auto to = open("to");
  EXPECT_EQ(to.import(from).value().added, 2U);
  EXPECT_EQ(to.kernels().value().size(), 1U);
}

// A stranger who says that the headers look as they did when he compiled is not believed.
TEST_F(Signatures, NoWitnessOfAStrangerCounts) {
  const auto sample = make_sample(1);
  const auto ask = [&](Cache& cache) {
    std::string told = "not asked";
    static_cast<void>(
        cache.find(sample.request, sample.witness.roots, [&](const Candidate& candidate) {
          told = candidate.witness != nullptr ? "a witness" : "none";
          return true;
        }));
    return told;
  };
  auto own = open("c", {.signing_key = farm_});
  ASSERT_TRUE(own.put(sample.entry()));
  EXPECT_EQ(ask(own), "a witness");
  const auto bundle = out_ / "with.kiln";
  fs::copy_file(own.file(), bundle);
  auto plain = Cache::open_bundle(bundle).value();
  EXPECT_EQ(ask(plain), "a witness");
  auto proven = Cache::open_bundle(bundle, {.trusted_keys = trust({farm_})}).value();
  EXPECT_EQ(ask(proven), "none");
}

TEST_F(Signatures, AFileThatKilnDidNotMakeIsRefused) {
  const std::vector<std::string> changes{
      "CREATE VIEW v AS SELECT 1",
      "CREATE TRIGGER t AFTER INSERT ON marks BEGIN DELETE FROM entries; END",
      "CREATE INDEX own_index ON entries(arch)",
      "CREATE VIRTUAL TABLE f USING rtree(a, b, c)",
      "DROP INDEX entries_by_dependencies; CREATE INDEX entries_by_dependencies ON entries(arch)",
      "ALTER TABLE entries RENAME TO other; ALTER TABLE other RENAME TO ENTRIES",
      "DROP TABLE witnesses",
      "ALTER TABLE entries RENAME TO other; CREATE VIEW entries AS SELECT * FROM other"};
  for (const auto& change : changes) {
    const auto bundle = signed_bundle({1}, farm_);
    test::run_sql(bundle, change);
    EXPECT_THAT(look(bundle, trust({farm_})), HasSubstr("is not as kiln makes it")) << change;
  }
  const auto bundle = signed_bundle({1}, farm_);
  test::run_sql(bundle, "CREATE TABLE a_later_kilns(id INTEGER PRIMARY KEY)");
  EXPECT_EQ(look(bundle, trust({farm_})), "served");
}

TEST_F(Signatures, ManyRowsOfAStrangerEndALookUp) {
  const auto bundle = signed_bundle({1}, farm_);
  // Newer rows go before older ones. None of these has the right key.
  test::run_sql(
      bundle,
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "
      "INSERT INTO entries(key, request, toolchain, dependencies, source, program, arch, kind, "
      "toolchain_text, created, compile_us, image_bytes, kernels, material, payload) "
      "SELECT randomblob(16), request, toolchain, dependencies, source, program, arch, kind, "
      "toolchain_text, created, compile_us, image_bytes, kernels, material, payload FROM entries, "
      "n");
  EXPECT_EQ(look(bundle, trust({farm_})), "untrusted");
  EXPECT_EQ(look(bundle, {}), "served");
  // So are those to which he copied what somebody signed.
  test::run_sql(bundle,
                "UPDATE entries SET payload = zeroblob(100000) WHERE id > 1;"
                "INSERT OR IGNORE INTO signatures(key, signer, record) SELECT e.key, s.signer, "
                "s.record FROM entries e, signatures s");
  EXPECT_EQ(look(bundle, trust({farm_})), "untrusted");
}

// XXH3 finds damage and no malice: these two texts have one digest.
TEST_F(Signatures, NoTextThatLooksAlikeIsTakenForTheOneThatWasSigned) {
  const auto sample_of = [](const std::string& name) {
    auto sample = test::make_sample(1);
    sample.source = test::read_file(fs::path(KILN_OLD_FILES) / name);
    sample.request.source = digest_of(sample.source);
    sample.request.source_bytes = sample.source.size();
    return sample;
  };
  const auto sample = sample_of("alike_1.bin");
  const auto alike = sample_of("alike_2.bin");
  const auto digest = sample.request.source;
  ASSERT_EQ(digest, alike.request.source);
  ASSERT_NE(sample.source, alike.source);
  ASSERT_TRUE(open("c", {.signing_key = farm_}).put(sample.entry()));
  ASSERT_TRUE(open("other").put(alike.entry()));
  const auto bundle = out_ / "b.kiln";
  ASSERT_TRUE(open("c").export_bundle(bundle));
  const auto exchange = [&](const fs::path& in) {
    test::run_sql(in, "ATTACH '" + (folder_.path() / "other/kernels.v1.db").string() +
                          "' AS o; INSERT OR REPLACE INTO texts(digest, raw_bytes, frame) "
                          "SELECT digest, raw_bytes, frame FROM o.texts WHERE digest = x'" +
                          digest.hex() + "'");
  };
  exchange(bundle);
  auto from = Cache::open_bundle(bundle, {.trusted_keys = trust({farm_})}).value();
  ASSERT_EQ(from.text(digest).value(), alike.source);
  EXPECT_EQ(from.verify_signatures(trust({farm_})).value().findings.size(), 1U);
  auto to = open("to");
  ASSERT_EQ(to.import(from).value().added, 1U);
  EXPECT_FALSE(to.text(digest)) << "a stranger's source became this user's own";

  // Nor does who signs it again vouch for the stranger's text.
  const auto again = out_ / "again.kiln";
  ASSERT_EQ(from.export_bundle(again, {.signing_key = next_}).value().signed_entries, 1U);
  exchange(again);
  auto vouched = Cache::open_bundle(again).value();
  EXPECT_EQ(vouched.verify_signatures(trust({next_})).value().findings.size(), 1U);
}

TEST_F(Signatures, NoEntryIsOverlookedHoweverItIsNumbered) {
  for (const auto* id : {"-7", "0", "-9223372036854775808"}) {
    const auto bundle = signed_bundle({1}, farm_);
    const auto unsigned_one = bundle_of({2}, {}, {});
    test::run_sql(bundle, "ATTACH '" + unsigned_one.string() +
                              "' AS o; UPDATE o.entries SET id = " + id +
                              "; INSERT INTO entries SELECT * FROM o.entries");
    auto from = Cache::open_bundle(bundle, {.trusted_keys = trust({farm_})}).value();
    const auto report = from.verify_signatures(trust({farm_})).value();
    EXPECT_EQ(report.entries, 2U) << id;
    ASSERT_EQ(report.findings.size(), 1U) << id;
    EXPECT_EQ(report.findings[0].name, test::as_found(make_sample(2)).key.hex());
  }
}

// Whoever adds signatures of nobody's takes nothing away.
TEST_F(Signatures, WhatAStrangerAddsStandsInNobodysWay) {
  const auto bundle = signed_bundle({1}, farm_);
  test::run_sql(
      bundle,
      "INSERT INTO signatures(key, signer, record) SELECT key, 'zz', zeroblob(length(record)) "
      "FROM signatures;"
      "INSERT INTO signatures(key, signer, record) SELECT key, 'zy', "
      "CAST(substr(record, 1, length(record) - 1) || x'00' AS BLOB) FROM signatures "
      "WHERE signer = 'farm-1';"
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) "
      "INSERT INTO signatures(key, signer, record) SELECT key, '0' || i, record FROM "
      "signatures, n WHERE signer = 'farm-1'");
  EXPECT_EQ(look(bundle, trust({farm_})), "served");
  auto from = Cache::open_bundle(bundle, {.trusted_keys = trust({farm_})}).value();
  auto to = open("to");
  ASSERT_EQ(to.import(from).value().added, 1U);
  const auto key = test::as_found(make_sample(1)).key;
  EXPECT_EQ(to.signers(key).value(), std::vector<std::string>{"farm-1"});
  const auto merged = out_ / "merged.kiln";
  ASSERT_TRUE(from.export_bundle(merged, {.signing_key = next_}));
  for (const auto& one : {farm_, next_}) EXPECT_EQ(look(merged, trust({one})), "served");
}

TEST_F(Signatures, AListEndsWhateverItsIndexSays) {
  const auto bundle = signed_bundle({1}, farm_);
  test::run_sql(
      bundle,
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) "
      "INSERT INTO entries(key, request, toolchain, dependencies, source, program, arch, kind, "
      "toolchain_text, created, compile_us, image_bytes, kernels, material, payload) "
      "SELECT CAST(printf('%016d', i) AS BLOB), request, toolchain, dependencies, source, program, "
      "arch, kind, toolchain_text, created, compile_us, image_bytes, kernels, material, x'00' "
      "FROM entries, n WHERE entries.id = 1");
  // As the index has it, the greatest of these comes again behind itself.
  auto bytes = test::read_file(bundle);
  const std::string greatest = "0000000000003000";
  for (auto at = bytes.find(greatest); at != bytes.npos; at = bytes.find(greatest, at + 1)) {
    auto changed = bytes;
    changed.replace(at, greatest.size(), std::string(15, '\0') + '\1');
    test::write_file(bundle, changed);
    auto opened = Cache::open_bundle(bundle);
    const auto listed = opened ? opened->list() : Result<std::vector<EntrySummary>>();
    EXPECT_TRUE(!listed || listed->size() <= 3001);
  }
}

// A write-ahead log needs memory that is shared with whoever owns the file, who could take it away.
TEST_F(Signatures, NoMemoryIsSharedWithWhoeverOwnsTheFile) {
  auto cache = open("c");
  ASSERT_TRUE(cache.put(make_sample(1).entry()));
  const auto file = cache.file();
  sqlite3* owner = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &owner), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(owner, "PRAGMA journal_mode=WAL; CREATE TABLE own(x)", nullptr, nullptr,
                         nullptr),
            SQLITE_OK);
  static_cast<void>(look_in(cache, 1));
  static_cast<void>(cache.list());
  const auto maps = test::read_file("/proc/self/maps");
  sqlite3_close(owner);
  EXPECT_EQ(maps.find(file.string() + "-shm"), maps.rfind(file.string() + "-shm"))
      << "but for the owner's";
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
