#include "record/artifact_codec.h"

#include <string>

#include <gtest/gtest.h>

#include "support.h"

namespace kiln::storage {
namespace {

/// What a record keeps of an artifact: all but what the request says.
Artifact kept(Artifact artifact) {
  artifact.key = {};
  artifact.program.clear();
  artifact.arch.clear();
  artifact.kind.clear();
  return artifact;
}

TEST(ArtifactCodec, GoesBothWays) {
  const Artifact artifact = kept(test::make_sample(1).artifact);
  const auto decoded = decode_artifact(encode_artifact(artifact));
  ASSERT_TRUE(decoded);
  EXPECT_TRUE(test::same_artifact(*decoded, artifact));
}

TEST(ArtifactCodec, TakesAnArtifactOfNothing) {
  const auto decoded = decode_artifact(encode_artifact(Artifact()));
  ASSERT_TRUE(decoded);
  EXPECT_TRUE(test::same_artifact(*decoded, Artifact()));
}

TEST(ArtifactCodec, IsPinned) {
  const std::string record = encode_artifact(test::make_sample(1, 0).artifact);
  EXPECT_EQ(digest_of(record).hex(), "0ad42c2036a55f4c9299b785ee5ea368");
}

TEST(ArtifactCodec, EveryCutOffRecordIsRefused) {
  const std::string record = encode_artifact(test::make_sample(1, 20).artifact);
  for (std::size_t size = 0; size < record.size(); ++size) {
    EXPECT_FALSE(decode_artifact(record.substr(0, size))) << size;
  }
  EXPECT_FALSE(decode_artifact(record + '\0'));
}

TEST(ArtifactCodec, EveryFlippedBitDecodesToItselfOrNotAtAll) {
  const std::string record = encode_artifact(test::make_sample(1, 20).artifact);
  for (std::size_t bit = 0; bit < 8 * record.size(); ++bit) {
    std::string flipped = record;
    flipped[bit / 8] ^= static_cast<char>(1 << bit % 8);
    const auto decoded = decode_artifact(flipped);
    if (decoded) {
      EXPECT_EQ(encode_artifact(*decoded), flipped) << "bit " << bit;
    }
  }
}

TEST(ArtifactCodec, AnUnknownVersionIsRefused) {
  std::string record = encode_artifact(Artifact());
  ASSERT_EQ(record[2], 1);
  record[2] = 2;
  EXPECT_FALSE(decode_artifact(record));
}

TEST(Artifact, FindsAKernelByItsExpression) {
  const Artifact artifact = test::make_sample(1).artifact;
  ASSERT_NE(artifact.find("scale<half>"), nullptr);
  EXPECT_EQ(artifact.find("scale<half>")->symbol, "_Z5scaleI6__halfEvPT_");
  EXPECT_EQ(artifact.find("scale"), nullptr);
}

TEST(Artifact, OriginsHaveWords) {
  EXPECT_STREQ(to_string(Origin::compiled), "compiled");
  EXPECT_STREQ(to_string(Origin::memory), "memory");
  EXPECT_STREQ(to_string(Origin::local), "local");
  EXPECT_STREQ(to_string(Origin::bundle), "bundle");
}

}  // namespace
}  // namespace kiln::storage
