#include "record/witness_codec.h"

#include <string>

#include <gtest/gtest.h>

#include "support.h"

namespace kiln::storage {
namespace {

TEST(WitnessCodec, GoesBothWays) {
  const auto stamps = test::make_sample(1).witness.stamps;
  EXPECT_EQ(decode_stamps(encode_stamps(stamps)), stamps);
  EXPECT_EQ(decode_stamps(encode_stamps({})), std::vector<FileStamp>());
}

TEST(WitnessCodec, EveryCutOffRecordIsRefusedOrShorter) {
  const auto stamps = test::make_sample(1).witness.stamps;
  const std::string record = encode_stamps(stamps);
  for (std::size_t size = 0; size < record.size(); ++size) {
    const auto decoded = decode_stamps(std::string_view(record).substr(0, size));
    if (decoded) {
      EXPECT_LT(decoded->size(), stamps.size());
    }
  }
}

TEST(WitnessCodec, EveryFlippedBitDecodesToItselfOrNotAtAll) {
  const std::string record = encode_stamps(test::make_sample(1).witness.stamps);
  for (std::size_t bit = 0; bit < 8 * record.size(); ++bit) {
    std::string flipped = record;
    flipped[bit / 8] ^= static_cast<char>(1 << bit % 8);
    const auto decoded = decode_stamps(flipped);
    if (decoded) {
      EXPECT_EQ(encode_stamps(*decoded), flipped) << "bit " << bit;
    }
  }
}

}  // namespace
}  // namespace kiln::storage
