// F5: bits flip in the database.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "fault_cache.h"
#include "rule_u.h"
#include "size.h"

namespace kiln {
namespace {

using test::as_found;
using test::RuleU;
using test::Sample;

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t database_header_bytes = 100;
constexpr std::size_t row_header_bytes = 40;  // More than any row's header has.

void flip(std::string& bytes, std::size_t bit) {
  bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
}

class Damage : public ::testing::Test {
 protected:
  void SetUp() override {
    {
      Cache cache = test::open_to_write(folder_.path()).value();
      ASSERT_TRUE(test::put(cache, sample_));
    }
    rule_.offered(sample_);
    pristine_ = test::read_file(file_);
  }

  /// Whatever happened to the file: nothing, or the right thing, and no false word on the way.
  void expect_right_or_nothing(Cache& cache) {
    const auto served = test::find_checked(cache, sample_);
    served_ += served ? 1 : 0;
    rule_.expect_right(sample_, served);
    test::inspect_checked(cache, sample_);
  }

  void expect_survives_reading(const std::string& bytes) {
    test::write_file(file_, bytes);
    if (auto cache = test::open_to_read(folder_.path())) expect_right_or_nothing(*cache);
  }

  void expect_survives_writing(const std::string& bytes) {
    test::write_file(file_, bytes);
    auto cache = test::open_to_write(folder_.path());
    if (!cache) return;
    expect_right_or_nothing(*cache);
    static_cast<void>(test::put(*cache, sample_));
    expect_right_or_nothing(*cache);
  }

  void expect_every_bit_survives(std::size_t begin, std::size_t end) {
    for (std::size_t bit = 8 * begin; bit < 8 * end && !HasFailure(); ++bit) {
      SCOPED_TRACE(bit);
      std::string damaged = pristine_;
      flip(damaged, bit);
      expect_survives_reading(damaged);
    }
    std::cout << 8 * (end - begin) << " flips, served after " << served_ << "\n";
  }

  /// Flips each bit of the one row that begins with these bytes. It ends where its page does, since
  /// SQLite fills pages from behind.
  void expect_every_bit_of_row_survives(std::string_view anchor) {
    const std::size_t found = pristine_.find(anchor);
    ASSERT_NE(found, std::string::npos);
    ASSERT_EQ(pristine_.find(anchor, found + 1), std::string::npos);
    expect_every_bit_survives(found - row_header_bytes, (found / page_bytes + 1) * page_bytes);
  }

  const Sample sample_ = test::make_sample(1, 200);
  test::TemporaryFolder folder_;
  const std::filesystem::path file_ = test::database_of(folder_.path());
  RuleU rule_;
  std::string pristine_;
  int served_ = 0;
};

TEST_F(Damage, EveryBitOfTheDatabasesHeader) {
  expect_every_bit_survives(0, database_header_bytes);
}

TEST_F(Damage, EveryBitOfAnEntrysRow) {
  expect_every_bit_of_row_survives(std::string(as_found(sample_).key.view()) +
                                   std::string(digest_of(sample_.request.material()).view()));
}

TEST_F(Damage, EveryBitOfADependencySetsRow) {
  expect_every_bit_of_row_survives(std::string(digest_of(sample_.dependencies.material()).view()) +
                                   "kilF");
}

TEST_F(Damage, EveryBitOfAWitnesssRow) {
  expect_every_bit_of_row_survives(std::string(sample_.witness.roots.view()) + "kilF");
}

TEST_F(Damage, RandomBitsAnywhere) {
  std::mt19937 generator(1);
  const int rounds = test::by_size(5'000, 100'000);
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    std::string damaged = pristine_;
    for (int flips = 1 << round % 4; flips > 0; --flips) {
      flip(damaged, generator() % (8 * damaged.size()));
    }
    expect_survives_reading(damaged);
  }
  std::cout << rounds << " rounds, served after " << served_ << "\n";
}

TEST_F(Damage, RandomBitsUnderAWriter) {
  std::mt19937 generator(2);
  const int rounds = test::by_size(500, 10'000);
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    std::string damaged = pristine_;
    flip(damaged, generator() % (8 * damaged.size()));
    expect_survives_writing(damaged);
  }
}

}  // namespace
}  // namespace kiln
