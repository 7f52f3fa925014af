// F6: a database or a rollback journal that ends too early, or a journal that is another database's.

#include <cstddef>
#include <filesystem>
#include <iostream>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "fault_cache.h"
#include "folder_image.h"
#include "power_loss_vfs.h"
#include "rule_u.h"

namespace kiln {
namespace {

using test::Call;
using test::FolderImage;
using test::make_sample;
using test::Operation;
using test::PowerLossVfs;
using test::RuleU;
using test::Sample;

constexpr std::size_t page_bytes = 4096;
// SQLite writes a journal's header at a sector's start, and a page with its number and checksum.
constexpr std::size_t journal_header_bytes = 4096;
constexpr std::size_t journal_record_bytes = 4 + page_bytes + 4;

/// Each multiple of `step` from `first` on, and its neighbours.
void add_boundaries(std::set<std::size_t>& sizes, std::size_t first, std::size_t step,
                    std::size_t size) {
  for (std::size_t at = first; at <= size; at += step) {
    for (const std::size_t near : {at - 1, at, at + 1}) {
      if (near < size) sizes.insert(near);
    }
  }
}

class Truncation : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int number = 0; number < 3; ++number) put(make_sample(number, 6'000));
    whole_ = test::load_folder(folder_.path());
  }

  void put(const Sample& sample) {
    Cache cache = test::open_to_write(folder_.path()).value();
    rule_.offered(sample);
    if (test::put(cache, sample)) rule_.stored(sample);
  }

  /// The folder as a process leaves it that is killed where its last put would commit.
  FolderImage with_hot_journal() {
    PowerLossVfs vfs(folder_.path());
    vfs.cut_when([](const Operation& operation, std::size_t) {
      return operation.call == Call::remove && std::string(operation.path).ends_with("-journal");
    });
    put(test::new_version(make_sample(0, 6'000), 99));
    put_failed_ = vfs.off();
    return test::load_folder(folder_.path());
  }

  /// Whether everything acknowledged was still there.
  bool expect_survives(const FolderImage& image) {
    test::store_folder(image, folder_.path());
    auto cache = test::open_to_write(folder_.path());
    if (test::mends_a_corrupt_file) {
      EXPECT_TRUE(cache) << cache.error().message;
    }
    if (!cache) return false;
    rule_.expect_all_right(*cache);
    const bool kept = rule_.all_kept(*cache);
    for (const int number : {0, 1, 2}) {
      static_cast<void>(test::put(*cache, make_sample(number, 6'000)));
    }
    rule_.expect_all_right(*cache);
    cache = {tl::unexpected(Error{})};
    if (test::mends_a_corrupt_file) rule_.expect_works_anew(folder_.path());
    return kept;
  }

  const std::filesystem::path& folder() const { return folder_.path(); }

  test::TemporaryFolder folder_;
  const std::string database_ = test::database_of(folder_.path()).filename();
  const std::string journal_ = database_ + "-journal";
  RuleU rule_;
  FolderImage whole_;
  bool put_failed_ = false;
};

TEST_F(Truncation, OfTheDatabase) {
  const std::string bytes = whole_.at(database_);
  std::set<std::size_t> sizes{0, 1, 99, 100, 101};
  add_boundaries(sizes, page_bytes, page_bytes, bytes.size());
  for (const std::size_t size : sizes) {
    SCOPED_TRACE(size);
    FolderImage image = whole_;
    image[database_].resize(size);
    expect_survives(image);
  }
  std::cout << sizes.size() << " sizes\n";
}

TEST_F(Truncation, OfAHotJournal) {
  const FolderImage hot = with_hot_journal();
  ASSERT_TRUE(put_failed_);
  const std::size_t journal_bytes = hot.at(journal_).size();
  ASSERT_GT(journal_bytes, journal_header_bytes + 2 * journal_record_bytes);
  ASSERT_NE(hot.at(database_), whole_.at(database_)) << "nothing there to roll back";
  EXPECT_TRUE(expect_survives(hot)) << "a whole journal was not rolled back";

  std::set<std::size_t> sizes{0, 1, 27, 28, 29, 511, 512, 513};
  add_boundaries(sizes, page_bytes, page_bytes, journal_bytes);
  add_boundaries(sizes, journal_header_bytes, journal_record_bytes, journal_bytes);
  for (const std::size_t size : sizes) {
    SCOPED_TRACE(size);
    FolderImage image = hot;
    image[journal_].resize(size);
    expect_survives(image);
  }
  std::cout << sizes.size() << " sizes\n";
}

TEST_F(Truncation, OfTheDatabaseBesideAHotJournal) {
  const FolderImage hot = with_hot_journal();
  std::set<std::size_t> sizes{0, 1, 100};
  add_boundaries(sizes, page_bytes, page_bytes, hot.at(database_).size());
  for (const std::size_t size : sizes) {
    SCOPED_TRACE(size);
    FolderImage image = hot;
    image[database_].resize(size);
    expect_survives(image);
  }
  std::cout << sizes.size() << " sizes\n";
}

// SQLite cannot tell whose journal it is, and rolls it back.
TEST_F(Truncation, AnotherDatabasesJournal) {
  const std::string journal = with_hot_journal().at(journal_);
  test::store_folder({}, folder());
  rule_ = {};
  for (int number = 10; number < 14; ++number) put(make_sample(number, 9'000));
  FolderImage mixed = test::load_folder(folder());
  mixed[journal_] = journal;
  rule_.offered(make_sample(0, 6'000));
  rule_.offered(make_sample(1, 6'000));
  rule_.offered(make_sample(2, 6'000));
  expect_survives(mixed);

  mixed[database_] = "";
  expect_survives(mixed);
  mixed[database_] = test::random_bytes(3 * page_bytes, 5);
  expect_survives(mixed);
}

}  // namespace
}  // namespace kiln
