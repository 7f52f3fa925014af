#include "record/artifact_codec.h"

#include <optional>
#include <string>
#include <vector>

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

std::optional<Artifact> artifact_in(const std::string& record) {
  return decode_artifact(ImageBuffer(record));
}

TEST(ArtifactCodec, GoesBothWays) {
  const Artifact artifact = kept(test::make_sample(1).artifact);
  const auto decoded = artifact_in(encode_artifact(artifact));
  ASSERT_TRUE(decoded);
  EXPECT_TRUE(test::same_artifact(*decoded, artifact));
}

TEST(ArtifactCodec, TakesAnArtifactOfNothing) {
  const auto decoded = artifact_in(encode_artifact(Artifact()));
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
    EXPECT_FALSE(artifact_in(record.substr(0, size))) << size;
  }
  EXPECT_FALSE(artifact_in(record + '\0'));
}

TEST(ArtifactCodec, EveryFlippedBitDecodesToItselfOrNotAtAll) {
  const std::string record = encode_artifact(test::make_sample(1, 20).artifact);
  for (std::size_t bit = 0; bit < 8 * record.size(); ++bit) {
    std::string flipped = record;
    flipped[bit / 8] ^= static_cast<char>(1 << bit % 8);
    const auto decoded = artifact_in(flipped);
    if (decoded) {
      EXPECT_EQ(encode_artifact(*decoded), flipped) << "bit " << bit;
    }
  }
}

TEST(ArtifactCodec, AnUnknownVersionIsRefused) {
  std::string record = encode_artifact(Artifact());
  ASSERT_EQ(record[2], 1);
  record[2] = 2;
  EXPECT_FALSE(artifact_in(record));
}

std::vector<ListedKernel> listed_kernels() {
  const auto sample = test::make_sample(1);
  return {{sample.artifact.kernels[0], sample.code[0]}, {sample.artifact.kernels[1], {}}};
}

TEST(KernelsCodec, GoesBothWays) {
  EXPECT_EQ(decode_kernels(encode_kernels(listed_kernels())), listed_kernels());
  EXPECT_EQ(decode_kernels(encode_kernels({})), std::vector<ListedKernel>());
}

TEST(KernelsCodec, IsPinned) {
  EXPECT_EQ(digest_of(encode_kernels(listed_kernels())).hex(), "529534c6aaa7bd3b7e04d9d3cac2e536");
}

TEST(KernelsCodec, EveryCutOffRecordDecodesToItselfOrNotAtAll) {
  const std::string record = encode_kernels(listed_kernels());
  for (std::size_t size = 0; size < record.size(); ++size) {
    const auto decoded = decode_kernels(record.substr(0, size));
    if (decoded) {
      EXPECT_EQ(encode_kernels(*decoded), record.substr(0, size)) << size;
    }
  }
  EXPECT_FALSE(decode_kernels(record + '\0'));
}

TEST(KernelsCodec, EveryFlippedBitDecodesToItselfOrNotAtAll) {
  const std::string record = encode_kernels(listed_kernels());
  for (std::size_t bit = 0; bit < 8 * record.size(); ++bit) {
    std::string flipped = record;
    flipped[bit / 8] ^= static_cast<char>(1 << bit % 8);
    const auto decoded = decode_kernels(flipped);
    if (decoded) {
      EXPECT_EQ(encode_kernels(*decoded), flipped) << "bit " << bit;
    }
  }
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
