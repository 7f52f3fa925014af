// What a file may do and cost that somebody made for whoever opens it, where keys are trusted.

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "forge.h"
#include "kiln/cache.h"
#include "signatures_fixture.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

using test::make_sample;
using test::trust;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A database as its pages.
class Pages {
 public:
  static constexpr std::size_t size = 4096;
  static constexpr std::size_t header_bytes = 100;

  explicit Pages(std::string bytes) : bytes_(std::move(bytes)) {}

  std::uint32_t append(const std::string& page) {
    bytes_ += page;
    return static_cast<std::uint32_t>(bytes_.size() / size);
  }

  char* at(std::size_t offset) { return bytes_.data() + offset; }

  /// As the file format has it: the number of pages, and the change that it is of.
  std::string finished() {
    store(at(28), static_cast<std::uint32_t>(bytes_.size() / size));
    std::copy_n(at(24), 4, at(92));
    return bytes_;
  }

  static void store(char* to, std::uint32_t number) {
    for (const int shift : {24, 16, 8, 0}) *to++ = static_cast<char>(number >> shift);
  }

  static void store_short(char* to, std::size_t number) {
    *to++ = static_cast<char>(number >> 8);
    *to = static_cast<char>(number);
  }

 private:
  std::string bytes_;
};

/// An interior page of a table, all of whose children are this one.
std::string interior_of(std::uint32_t child, std::size_t begin = 0) {
  constexpr std::size_t children = 500;
  constexpr std::size_t cell = Pages::size - 5;
  std::string page(Pages::size, '\0');
  char* const header = page.data() + begin;
  header[0] = 5;
  Pages::store_short(header + 3, children);
  Pages::store_short(header + 5, cell);
  Pages::store(header + 8, child);
  for (std::size_t at = 0; at < children; ++at) Pages::store_short(header + 12 + 2 * at, cell);
  Pages::store(page.data() + cell, child);
  page[cell + 4] = 100;
  return page;
}

/// A leaf with one row of sqlite_schema many times, which SQLite takes each time.
std::string leaf_of_indexes() {
  constexpr std::size_t rows = 600;
  const std::string name = "sqlite_autoindex_texts_1";
  std::string record{6, 23, static_cast<char>(13 + 2 * name.size()), 23, 1, 0};
  record += "index" + name + "texts";
  record += '\4';
  const auto cell = Pages::size - record.size() - 2;
  std::string page(Pages::size, '\0');
  page[0] = 13;
  Pages::store_short(page.data() + 3, rows);
  Pages::store_short(page.data() + 5, cell);
  for (std::size_t at = 0; at < rows; ++at) Pages::store_short(page.data() + 8 + 2 * at, cell);
  page[cell] = static_cast<char>(record.size());
  page[cell + 1] = 100;
  record.copy(page.data() + cell + 2, record.size());
  return page;
}

/// The same database with a schema of some 10^13 rows, of which a few pages hold all.
std::string with_endless_schema(const std::string& database) {
  Pages pages(database);
  std::string own(Pages::size, '\0');
  std::copy_n(pages.at(0), Pages::size, own.begin());
  constexpr std::size_t most_pointers = 500;
  std::copy_n(pages.at(Pages::header_bytes), 8 + most_pointers, own.begin());
  const auto own_page = pages.append(own);
  auto top = pages.append(leaf_of_indexes());
  for (int level = 0; level < 4; ++level) top = pages.append(interior_of(top));
  auto first = interior_of(own_page, Pages::header_bytes);
  Pages::store_short(first.data() + Pages::header_bytes + 3, 1);
  Pages::store(first.data() + Pages::header_bytes + 8, top);
  std::copy_n(first.begin() + Pages::header_bytes, Pages::size - Pages::header_bytes,
              pages.at(Pages::header_bytes));
  return pages.finished();
}

class Memory {
 public:
  Memory() { static_cast<void>(sqlite3_memory_highwater(1)); }
  /// What SQLite has had at one time since, in MiB.
  [[nodiscard]] static std::int64_t most() { return sqlite3_memory_highwater(0) >> 20; }
};

class HostileFiles : public test::Signatures {
 protected:
  CacheOptions trusting(const CacheOptions::Access access = CacheOptions::Access::read_write) {
    CacheOptions options;
    options.access = access;
    options.trusted_keys = trust({farm_});
    options.on_fault = [this](std::string_view line) { told_.emplace_back(line); };
    return options;
  }

  Cache opened(const fs::path& bundle) { return Cache::open_bundle(bundle, trusting()).value(); }

  /// A directory of this user's that others may write, with these entries, signed or not.
  fs::path shared_directory(const std::string& name, int number, const SigningKey& key) const {
    EXPECT_TRUE(open(name, {.signing_key = key}).put(make_sample(number).entry()));
    const auto directory = folder_.path() / name;
    fs::permissions(directory, fs::perms::all);
    return directory;
  }

  std::vector<std::string> told_;
};

TEST_F(HostileFiles, ASchemaWithoutAnEndIsGivenUp) {
  const auto bundle = signed_bundle({1}, farm_);
  test::write_file(bundle, with_endless_schema(test::read_file(bundle)));
  EXPECT_THAT(look(bundle, trust({farm_})), HasSubstr("takes more time"));
}

TEST_F(HostileFiles, WhatWasGivenUpIsNotAskedAgain) {
  const auto directory = shared_directory("c", 1, farm_);
  auto cache = Cache::open(directory, trusting()).value();
  EXPECT_EQ(look_in(cache, 1), "served");
  const auto file = directory / "kernels.v1.db";
  const auto hostile = with_endless_schema(test::read_file(file));
  fs::rename(file, directory / "gone");
  test::write_file(file, hostile);
  for (int asked = 0; asked < 50; ++asked) EXPECT_EQ(look_in(cache, 2), "missed");
  EXPECT_EQ(cache.counters().errors(), 1U);
  EXPECT_THAT(told_, ElementsAre(HasSubstr("takes more time")));
}

TEST_F(HostileFiles, ASchemaThatChangesWhileTheFileIsOpenIsNotRun) {
  const auto directory = shared_directory("c", 1, farm_);
  auto cache = Cache::open(directory, trusting()).value();
  ASSERT_EQ(look_in(cache, 1), "served");
  test::run_sql(
      directory / "kernels.v1.db",
      "ALTER TABLE entries RENAME TO own; CREATE TABLE entries(id INTEGER PRIMARY KEY, key, "
      "request, "
      "toolchain, source, dependencies, image_bytes, kernels, compile_us, created, arch, kind, "
      "toolchain_text, program, material, payload AS (x'00'));"
      "INSERT INTO entries SELECT id, key, request, toolchain, source, dependencies, image_bytes, "
      "kernels, compile_us, created, arch, kind, toolchain_text, program, material FROM own");
  EXPECT_EQ(look_in(cache, 1), "missed");
  EXPECT_THAT(told_, ElementsAre(HasSubstr("is not as kiln makes it")));
  EXPECT_FALSE(cache.list());
}

TEST_F(HostileFiles, ASchemaThatOnlyGrowsServesOn) {
  const auto directory = shared_directory("c", 1, farm_);
  auto cache = Cache::open(directory, trusting()).value();
  ASSERT_EQ(look_in(cache, 1), "served");
  test::run_sql(directory / "kernels.v1.db", "CREATE TABLE a_later_kilns(id INTEGER PRIMARY KEY)");
  EXPECT_EQ(look_in(cache, 1), "served");
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(HostileFiles, FiguresForThePlannerAreNoneOfKilns) {
  const auto bundle = signed_bundle({1}, farm_);
  test::run_sql(bundle, "ANALYZE");
  EXPECT_THAT(look(bundle, trust({farm_})), HasSubstr("sqlite_stat"));
}

// SQLite reads what it takes for its planner's figures together with the schema, before anybody can look at that.
TEST_F(HostileFiles, NoFunctionIsCalledWhileTheSchemaIsRead) {
  const std::string forever = "instr(hex(zeroblob(4000000)), hex(zeroblob(2000000)) || ''1'')";
  for (const auto& stat :
       {"stat AS (" + forever + ")", std::string("stat AS (tbl LIKE ''%x%'')")}) {
    const auto bundle = signed_bundle({1}, farm_);
    test::run_sql(bundle,
                  "ANALYZE; PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = "
                  "'CREATE TABLE sqlite_stat1(tbl, idx, " +
                      stat + ")' WHERE name = 'sqlite_stat1'");
    EXPECT_THAT(look(bundle, trust({farm_})), HasSubstr("bundle")) << stat;
    const auto directory = shared_directory("c", 1, farm_);
    auto cache = Cache::open(directory, trusting()).value();
    ASSERT_EQ(look_in(cache, 1), "served");
    test::run_sql(directory / "kernels.v1.db",
                  "ANALYZE; PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = "
                  "'CREATE TABLE sqlite_stat1(tbl, idx, " +
                      stat + ")' WHERE name = 'sqlite_stat1'");
    EXPECT_EQ(look_in(cache, 1), "missed") << stat;
    fs::remove_all(directory);
  }
}

// Each of these is read before the schema can be looked at, and each has an index for each of its columns.
TEST_F(HostileFiles, ASchemaOfManyTablesIsGivenUpOrRefusedInLittleMemory) {
  const auto bundle = signed_bundle({1}, farm_);
  std::string columns = "a0";
  std::string indexes;
  for (int column = 1; column < 30; ++column) columns += ", a" + std::to_string(column);
  for (int number = 0; number < 150; ++number)
    indexes +=
        ", UNIQUE(a" + std::to_string(number % 30) + ", a" + std::to_string(number / 30) + ")";
  std::string made;
  for (int table = 0; table < 400; ++table)
    made += "CREATE TABLE t" + std::to_string(table) + "(" + columns + indexes + ");";
  test::run_sql(bundle, "BEGIN;" + made + "COMMIT");
  const Memory memory;
  EXPECT_NE(look(bundle, trust({farm_})), "served");
  EXPECT_LT(Memory::most(), 60);
}

TEST_F(HostileFiles, AFileThatIsMostlyHolesIsRefused) {
  const auto bundle = signed_bundle({1}, farm_);
  fs::resize_file(bundle, std::uintmax_t{1} << 30);
  EXPECT_THAT(look(bundle, trust({farm_})), HasSubstr("more holes than content"));
}

TEST_F(HostileFiles, AListingOfLongNamesTakesLittle) {
  const auto bundle = signed_bundle({1, 2, 3, 4, 5, 6, 7, 8}, farm_);
  test::run_sql(bundle,
                "UPDATE entries SET program = hex(zeroblob(3000000)), toolchain_text = program");
  const auto listed = opened(bundle).list().value();
  ASSERT_EQ(listed.size(), 8U);
  for (const auto& entry : listed) EXPECT_EQ(entry.program.size(), 4096U);
}

TEST_F(HostileFiles, NothingHidesBehindANameThatIsNoText) {
  for (const auto* change :
       {"CREATE TABLE t(x)", "CREATE INDEX i ON texts(raw_bytes)", "CREATE VIEW v AS SELECT 1"}) {
    const auto bundle = signed_bundle({1}, farm_);
    test::run_sql(bundle, std::string(change) +
                              "; PRAGMA writable_schema = ON; UPDATE sqlite_schema SET name = "
                              "CAST(name AS BLOB) WHERE name IN ('t', 'i', 'v')");
    EXPECT_NE(look(bundle, trust({farm_})), "served") << change;
  }
}

TEST_F(HostileFiles, WhatTakesThePlaceOfTheUsersOwnDirectoryIsLookedAtAnew) {
  ASSERT_TRUE(open("c").put(make_sample(1).entry()));
  auto cache = open("c", trusting());
  EXPECT_EQ(look_in(cache, 1), "served");
  EXPECT_TRUE(cache.writable());
  const auto another = shared_directory("another", 2, {});
  fs::rename(folder_.path() / "c", folder_.path() / "old");
  fs::rename(another, folder_.path() / "c");
  EXPECT_EQ(look_in(cache, 2), "untrusted");
  EXPECT_FALSE(cache.writable());
}

TEST_F(HostileFiles, NothingIsWrittenWhereOthersMayHave) {
  const auto directory = shared_directory("c", 1, farm_);
  auto cache = Cache::open(directory, trusting()).value();
  EXPECT_EQ(look_in(cache, 1), "served");
  EXPECT_FALSE(cache.writable());
  EXPECT_FALSE(cache.put(make_sample(2).entry()));
}

TEST_F(HostileFiles, NoJournalOfOthersIsCarriedOut) {
  const auto directory = shared_directory("c", 1, farm_);
  const auto journal = directory / "kernels.v1.db-journal";
  std::string page("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8);
  page.resize(8192, '\1');
  test::write_file(journal, page);
  fs::permissions(journal, fs::perms::owner_read | fs::perms::owner_write);
  const auto file = directory / "kernels.v1.db";
  const auto before = test::read_file(file);
  const auto opened = Cache::open(directory, trusting());
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("in the middle of a commit"));
  EXPECT_EQ(test::read_file(file), before);
  EXPECT_EQ(test::read_file(journal), page);
}

TEST_F(HostileFiles, NoMoreIsReadThanWasSigned) {
  const std::vector<std::string> changes{
      "UPDATE entries SET payload = zeroblob(100000000)",
      "UPDATE entries SET toolchain_text = hex(zeroblob(50000000))",
      "UPDATE entries SET material = CAST(zeroblob(100000000) AS TEXT)",
      "UPDATE dependency_sets SET frame = zeroblob(100000000)",
      "UPDATE signatures SET record = CAST(zeroblob(100000000) AS TEXT)"};
  for (const auto& change : changes) {
    const auto bundle = signed_bundle({1}, farm_);
    test::run_sql(bundle, change);
    const Memory memory;
    EXPECT_THAT(look(bundle, trust({farm_})), testing::AnyOf("untrusted", "missed")) << change;
    EXPECT_LT(Memory::most(), 40) << change;
    auto from = opened(bundle);
    auto to = open("to");
    static_cast<void>(to.import(from));
    EXPECT_LT(Memory::most(), 40) << change;
    fs::remove(bundle);
  }
}

TEST_F(HostileFiles, ThePageCacheIsNoLargerThanSqlitesOwn) {
  const auto bundle = signed_bundle({1}, farm_);
  test::run_sql(bundle,
                "PRAGMA default_cache_size = 100000;"
                "CREATE TABLE filler(id INTEGER PRIMARY KEY, bytes BLOB);"
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
                "INSERT INTO filler SELECT i, zeroblob(3900) FROM n;"
                "DELETE FROM texts; INSERT INTO texts(digest, raw_bytes, frame) "
                "SELECT randomblob(16), 1, bytes FROM filler");
  auto cache = opened(bundle);
  const Memory memory;
  EXPECT_EQ(cache.statistics().value().texts, 20'000U);
  EXPECT_LT(Memory::most(), 8);
}

TEST_F(HostileFiles, ATextIsNoLargerThanTextsAre) {
  const auto bundle = signed_bundle({1}, farm_);
  const auto source = make_sample(1).request.source;
  constexpr std::uint64_t gigabyte = std::uint64_t{1} << 30;
  const auto stored = test::zstd_bomb("", std::string(1 << 20, 'x'), 1024, "");
  const auto frame =
      test::forge({.codec = 1, .raw_size = gigabyte, .stored_size = stored.size()},
                  {.table = storage::FrameOwner::Table::texts, .first = source}, stored);
  std::string hex;
  for (const unsigned char byte : frame) {
    constexpr std::string_view digits = "0123456789abcdef";
    hex += {digits[byte >> 4U], digits[byte & 15U]};
  }
  test::run_sql(bundle,
                "UPDATE texts SET frame = x'" + hex + "' WHERE digest = x'" + source.hex() + "'");
  const auto peak = [] {
    struct rusage usage {};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  const auto results = test::run_processes(1, [&](int) {
    const auto before = peak();
    auto from = opened(bundle);
    auto to = open("to");
    const auto report = to.import(from).value();
    constexpr long most_kibibytes = 600 << 10;
    return report.skipped.size() == 1 && peak() - before < most_kibibytes ? 0 : 1;
  });
  EXPECT_EQ(results, std::vector<int>{0});
}

// Each row is slow by what its columns hold; none is so slow that it is given up by itself.
TEST_F(HostileFiles, ManySlowRowsAreGivenUp) {
  const auto directory = shared_directory("c", 1, farm_);
  test::run_sql(
      directory / "kernels.v1.db",
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) "
      "INSERT INTO entries(key, request, toolchain, dependencies, source, program, arch, kind, "
      "toolchain_text, created, compile_us, image_bytes, kernels, material, payload) "
      "SELECT randomblob(16), request, toolchain, dependencies, source, program, arch, kind, "
      "toolchain_text, created, compile_us, image_bytes, kernels, zeroblob(7000000), payload "
      "FROM entries, n WHERE id = 1;"
      "INSERT OR IGNORE INTO signatures(key, signer, record) SELECT e.key, s.signer, "
      "s.record FROM entries e, signatures s");
  auto cache = Cache::open(directory, trusting()).value();
  int asked = 0;
  while (asked < 50 && look_in(cache, 1) != "missed") ++asked;
  EXPECT_LT(asked, 50);
}

// Of a row whose signature is for another request, no more is read than any row may have.
TEST_F(HostileFiles, AReplayedSignatureBuysNoMemory) {
  auto large = make_sample(2);
  large.artifact.image = test::random_bytes(40U << 20, 1);
  auto own = open("c", {.signing_key = farm_});
  ASSERT_TRUE(own.put(make_sample(1).entry()));
  ASSERT_TRUE(own.put(large.entry()));
  const auto bundle = out_ / "replayed.kiln";
  ASSERT_TRUE(own.export_bundle(bundle));
  test::run_sql(bundle, "UPDATE signatures SET key = randomblob(16) WHERE key = x'" +
                            test::as_found(make_sample(1)).key.hex() +
                            "';"
                            "UPDATE signatures SET key = x'" +
                            test::as_found(make_sample(1)).key.hex() + "' WHERE key = x'" +
                            test::as_found(large).key.hex() +
                            "';"
                            "UPDATE entries SET payload = zeroblob(45000000), toolchain_text = "
                            "hex(zeroblob(20000000)) WHERE key = x'" +
                            test::as_found(make_sample(1)).key.hex() + "'");
  const Memory memory;
  EXPECT_EQ(look(bundle, trust({farm_})), "untrusted");
  EXPECT_LT(Memory::most(), 40);
}

// What is large and signed is taken, with its texts.
TEST_F(HostileFiles, LargeOnesThatWereSignedServe) {
  auto sample = make_sample(1);
  sample.artifact.image = test::random_bytes(12U << 20, 1);
  sample.source = test::random_bytes(11U << 20, 2);
  sample.request.source = digest_of(sample.source);
  sample.request.source_bytes = sample.source.size();
  ASSERT_TRUE(open("c", {.signing_key = farm_}).put(sample.entry()));
  const auto bundle = out_ / "large.kiln";
  ASSERT_TRUE(open("c").export_bundle(bundle));
  auto from = opened(bundle);
  EXPECT_TRUE(test::find(from, sample));
  auto to = open("to");
  const auto report = to.import(from).value();
  EXPECT_EQ(report.added, 1U);
  EXPECT_TRUE(report.skipped.empty());
  EXPECT_EQ(to.text(sample.request.source).value(), sample.source);
  EXPECT_EQ(from.text(sample.request.source).value(), sample.source);
  EXPECT_TRUE(from.verify(true).value().findings.empty());
  EXPECT_TRUE(from.verify_signatures(trust({farm_})).value().findings.empty());
  EXPECT_THAT(told_, IsEmpty());
}

// Each of these was signed; but for another request than the one by which they are found now.
TEST_F(HostileFiles, RowsOfOtherRequestsEndALookUp) {
  for (const auto& [others, expected] : {std::pair(10, "served"), std::pair(70, "damaged")}) {
    std::vector<int> numbers;
    for (int number = 1; number <= others; ++number) numbers.push_back(number);
    const auto bundle = signed_bundle(numbers, farm_);
    test::run_sql(bundle, "UPDATE entries SET request = x'" +
                              digest_of(make_sample(1).request.material()).hex() +
                              "'; UPDATE entries SET id = -1 WHERE key = x'" +
                              test::as_found(make_sample(1)).key.hex() + "'");
    EXPECT_EQ(look(bundle, trust({farm_})), expected) << others;
  }
}

TEST_F(HostileFiles, NothingIsAlikeThatNobodyVouchesFor) {
  const auto bundle = signed_bundle({1, 2}, farm_);
  EXPECT_EQ(Cache::open_bundle(bundle).value().alike(make_sample(1).request, {}).value().size(),
            2U);
  EXPECT_THAT(opened(bundle).alike(make_sample(1).request, {}).value(), IsEmpty());
}

TEST_F(HostileFiles, OnlyWhatWasSignedIsTakenToGoOnWith) {
  const auto bundle = signed_bundle({1}, farm_);
  const auto key = test::as_found(make_sample(1)).key;
  EXPECT_TRUE(test::same_artifact(opened(bundle).proven_artifact(key).value(),
                                  test::as_found(make_sample(1))));
  const auto unsigned_one = bundle_of({1}, {}, {});
  auto of_nobody = opened(unsigned_one);
  EXPECT_TRUE(of_nobody.artifact(key));
  EXPECT_THAT(of_nobody.proven_artifact(key).error().message, HasSubstr("no trusted key"));
  EXPECT_TRUE(Cache::open_bundle(unsigned_one).value().proven_artifact(key));
  EXPECT_EQ(of_nobody.proven_artifact({}).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace kiln
