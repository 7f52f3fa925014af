// What a stranger may do to a file whose entries somebody trusted has signed.

#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "kiln/cache.h"
#include "kiln/signing.h"
#include "signatures_fixture.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

using test::make_sample;
using test::trust;
using testing::HasSubstr;

class Strangers : public test::Signatures {};

// The signer's word is for the image; a stranger who changes what is told of its kernels changes nothing that serves.
TEST_F(Strangers, WhatIsToldOfKernelsIsTakenAsItWasSigned) {
  const auto bundle = signed_bundle({1, 2}, farm_);
  test::run_sql(bundle, "UPDATE kernels SET frame = (SELECT frame FROM kernels WHERE key = x'" +
                            test::as_found(make_sample(1)).key.hex() + "') WHERE id = 2");
  auto from = Cache::open_bundle(bundle, {.trusted_keys = trust({farm_})}).value();
  auto to = open("to");
  EXPECT_EQ(to.import(from).value().added, 2U);
  EXPECT_EQ(to.kernels().value().size(), 1U);
}

// A stranger who says that the headers look as they did when he compiled is not believed.
TEST_F(Strangers, NoWitnessOfAStrangerCounts) {
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

TEST_F(Strangers, AFileThatKilnDidNotMakeIsRefused) {
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

TEST_F(Strangers, ManyRowsOfAStrangerEndALookUp) {
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

// XXH3 finds damage and no malice: the texts of these two have one digest.
class AlikeTexts : public Strangers {
 protected:
  static test::Sample sample_of(const std::string& name) {
    auto sample = test::make_sample(1);
    sample.source = test::read_file(fs::path(KILN_CACHE_TEST_FILES) / name);
    sample.request.source = digest_of(sample.source);
    sample.request.source_bytes = sample.source.size();
    return sample;
  }

  const test::Sample signed_ = sample_of("alike_1.bin");
  const test::Sample alike_ = sample_of("alike_2.bin");
};

// Another entry, and with it another key, of the text that only looks alike.
TEST_F(AlikeTexts, NothingIsKeptThatATextHereWouldBelie) {
  ASSERT_TRUE(open("c", {.signing_key = farm_}).put(signed_.entry()));
  const auto bundle = out_ / "b.kiln";
  ASSERT_TRUE(open("c").export_bundle(bundle));
  auto to = open("to");
  auto other = alike_;
  other.request.arch = "sm_100";
  ASSERT_TRUE(to.put(other.entry()));
  auto from = Cache::open_bundle(bundle, {.trusted_keys = trust({farm_})}).value();
  const auto report = to.import(from).value();
  EXPECT_EQ(report.added, 0U);
  ASSERT_EQ(report.skipped.size(), 1U);
  EXPECT_THAT(report.skipped[0].problem, HasSubstr("another than the one of the same digest"));
}

TEST_F(AlikeTexts, NobodySignsForATextThatOnlyLooksAlike) {
  ASSERT_TRUE(open("c", {.signing_key = farm_}).put(signed_.entry()));
  const auto bundle = out_ / "b.kiln";
  ASSERT_TRUE(open("c").export_bundle(bundle, {.without_sources = true}));
  auto to = open("to");
  auto other = alike_;
  other.request.arch = "sm_100";
  ASSERT_TRUE(to.put(other.entry()));
  auto from = Cache::open_bundle(bundle, {.trusted_keys = trust({farm_})}).value();
  ASSERT_EQ(to.import(from).value().added, 1U);
  const auto report = to.export_bundle(out_ / "again.kiln", {.signing_key = next_}).value();
  EXPECT_EQ(report.signed_entries, 1U) << "that of the text that is here";
  ASSERT_EQ(report.skipped.size(), 1U);
  EXPECT_EQ(report.skipped[0].name, test::as_found(signed_).key.hex());
  EXPECT_THAT(report.skipped[0].problem, HasSubstr("another than the one"));
}

TEST_F(AlikeTexts, NoneIsTakenForTheOneThatWasSigned) {
  const auto digest = signed_.request.source;
  ASSERT_EQ(digest, alike_.request.source);
  ASSERT_NE(signed_.source, alike_.source);
  ASSERT_TRUE(open("c", {.signing_key = farm_}).put(signed_.entry()));
  ASSERT_TRUE(open("other").put(alike_.entry()));
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
  ASSERT_EQ(from.text(digest).value(), alike_.source);
  EXPECT_EQ(from.verify_signatures(trust({farm_})).value().findings.size(), 1U);
  auto to = open("to");
  const auto imported = to.import(from).value();
  ASSERT_EQ(imported.added, 1U);
  ASSERT_EQ(imported.skipped.size(), 1U);
  EXPECT_EQ(imported.skipped[0].what, "text");
  EXPECT_EQ(imported.skipped[0].name, digest.hex());
  EXPECT_THAT(imported.skipped[0].problem, HasSubstr("comes without it and its headers"));
  EXPECT_FALSE(to.text(digest)) << "a stranger's source became this user's own";

  // Nor does who signs it again vouch for the stranger's text.
  const auto again = out_ / "again.kiln";
  ASSERT_EQ(from.export_bundle(again, {.signing_key = next_}).value().signed_entries, 1U);
  exchange(again);
  auto vouched = Cache::open_bundle(again).value();
  EXPECT_EQ(vouched.verify_signatures(trust({next_})).value().findings.size(), 1U);
}

TEST_F(Strangers, NoEntryIsOverlookedHoweverItIsNumbered) {
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
TEST_F(Strangers, WhatAStrangerAddsStandsInNobodysWay) {
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

TEST_F(Strangers, AListEndsWhateverItsIndexSays) {
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

/// Lets two take turns.
class Signal {
 public:
  Signal() { EXPECT_EQ(::pipe(ends_), 0); }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  ~Signal() {
    for (const int end : ends_) ::close(end);
  }
  void give() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  void wait() const {
    char byte = 0;
    EXPECT_EQ(::read(ends_[0], &byte, 1), 1);
  }

 private:
  int ends_[2] = {-1, -1};
};

// A write-ahead log needs memory that is shared with whoever owns the file, who could take it away.
TEST_F(Strangers, NoMemoryIsSharedWithWhoeverOwnsTheFile) {
  const auto file = folder_.path() / "c/kernels.v1.db";
  ASSERT_TRUE(open("c").put(make_sample(1).entry()));
  const Signal looked;
  const Signal changed;
  std::thread owner([&] {
    looked.wait();
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, "PRAGMA journal_mode=WAL; CREATE TABLE own(x)", nullptr,
                           nullptr, nullptr),
              SQLITE_OK);
    EXPECT_TRUE(fs::exists(file.string() + "-shm"));
    changed.give();
    looked.wait();
    sqlite3_close(database);
  });
  const auto results = test::run_processes(1, [&](int) {
    auto cache = open("c");
    const bool served = look_in(cache, 1) == "served";
    looked.give();
    changed.wait();
    static_cast<void>(look_in(cache, 2));
    static_cast<void>(cache.list());
    const auto maps = test::read_file("/proc/self/maps");
    looked.give();
    return served && maps.find("-shm") == maps.npos ? 0 : 1;
  });
  owner.join();
  EXPECT_EQ(results, std::vector<int>{0});
}

}  // namespace
}  // namespace kiln
