// F4: the power goes while a cache is being written.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "fault_cache.h"
#include "folder_image.h"
#include "power_loss_vfs.h"
#include "rule_u.h"
#include "size.h"

namespace kiln {
namespace {

using test::FolderImage;
using test::make_sample;
using test::Operation;
using test::PowerLossVfs;
using test::RuleU;
using test::Sample;

/// Puts of new entries and of new versions, some with a fresh Cache: all by the seed.
class Writer {
 public:
  Writer(std::filesystem::path folder, unsigned seed)
      : folder_(std::move(folder)), generator_(seed) {}

  /// Until it is done or the power is off.
  void run(const PowerLossVfs& vfs, RuleU& rule) {
    const unsigned steps = 1 + generator_() % 5;
    for (unsigned step = 0; step < steps && !vfs.off(); ++step) {
      if (!cache_ || generator_() % 4 == 0) reopen();
      if (cache_) put(rule);
    }
  }

 private:
  void reopen() {
    cache_.reset();
    auto opened = test::open_to_write(folder_);
    if (opened) cache_.emplace(std::move(*opened));
  }

  void put(RuleU& rule) {
    const int number = static_cast<int>(generator_() % 4);
    const Sample sample =
        test::new_version(make_sample(number, 200 + generator_() % 12'000), generator_());
    rule.offered(sample);
    if (test::put(*cache_, sample)) rule.stored(sample);
  }

  const std::filesystem::path folder_;
  std::mt19937 generator_;
  std::optional<Cache> cache_;
};

std::string integrity_of(const std::filesystem::path& file) {
  sqlite3* database = nullptr;
  sqlite3_stmt* check = nullptr;
  sqlite3_open_v2(file.c_str(), &database, SQLITE_OPEN_READWRITE, nullptr);
  sqlite3_prepare_v2(database, "PRAGMA integrity_check", -1, &check, nullptr);
  std::string words;
  while (sqlite3_step(check) == SQLITE_ROW) {
    words += reinterpret_cast<const char*>(sqlite3_column_text(check, 0));
  }
  if (sqlite3_errcode(database) != SQLITE_DONE) words = sqlite3_errmsg(database);
  sqlite3_finalize(check);
  sqlite3_close(database);
  return words;
}

class PowerLoss : public ::testing::Test {
 protected:
  struct Left {
    FolderImage image;
    RuleU rule;
    std::size_t changes;
  };

  /// Plays one life of a cache up to a loss of power at a change of the disk.
  Left live(unsigned seed, std::size_t cut) {
    test::store_folder(seed % 3 == 0 ? FolderImage{} : held_, folder_.path());
    RuleU rule = seed % 3 == 0 ? RuleU() : held_rule_;
    PowerLossVfs vfs(folder_.path());
    vfs.cut_when([&](const Operation&, std::size_t number) { return number == cut; });
    Writer(folder_.path(), seed).run(vfs, rule);
    return {vfs.after_power_loss(seed), std::move(rule), vfs.changes()};
  }

  /// A cache with two entries, for those lives that do not begin with none.
  void hold_two() {
    for (const int number : {0, 1}) {
      const Sample sample = make_sample(number);
      held_rule_.offered(sample);
      Cache cache = test::open_to_write(folder_.path()).value();
      ASSERT_TRUE(test::put(cache, sample));
      held_rule_.stored(sample);
    }
    held_ = test::load_folder(folder_.path());
  }

  /// Whether everything acknowledged was still there.
  bool expect_survives(const Left& left) {
    test::store_folder(left.image, folder_.path());
    if (const auto database = test::database_of(folder_.path());
        left.image.contains(database.filename())) {
      EXPECT_EQ(integrity_of(database), "ok");
    }
    bool kept = false;
    if (auto cache = test::open_to_write(folder_.path())) kept = left.rule.all_kept(*cache);
    left.rule.expect_works_anew(folder_.path());
    return kept;
  }

  test::TemporaryFolder folder_;
  FolderImage held_;
  RuleU held_rule_;
};

TEST_F(PowerLoss, RuleUHoldsAtAnyMoment) {
  hold_two();
  const unsigned seeds = test::by_size(1'000u, 10'000u);
  unsigned kept = 0;
  for (unsigned seed = 0; seed < seeds && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    // The first life tells how long it is, the second ends somewhere in it.
    const std::size_t changes = live(seed, SIZE_MAX).changes;
    kept += expect_survives(live(seed, std::mt19937(~seed)() % (changes + 1))) ? 1 : 0;
  }
  RecordProperty("seeds", static_cast<int>(seeds));
  RecordProperty("kept_all_acknowledged", static_cast<int>(kept));
  std::cout << kept << " of " << seeds << " seeds kept all acknowledged entries\n";
}

}  // namespace
}  // namespace kiln
