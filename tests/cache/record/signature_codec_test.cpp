#include "record/signature_codec.h"

#include <string>

#include <gtest/gtest.h>

#include "support.h"

namespace kiln::storage {
namespace {

Claim full_claim() {
  return {.signer = "farm-1",
          .request = std::string(32, 'r'),
          .dependencies = std::string(32, 'd'),
          .source = std::string(32, 's'),
          .headers = std::string(32, 'h'),
          .toolchain = digest_of("a compiler"),
          .toolchain_text = "NVRTC 13.0",
          .dependencies_bytes = 300,
          .artifact_bytes = 70'000,
          .artifact = std::string(32, 'a'),
          .kernels = std::string(32, 'k')};
}

TEST(SignatureCodec, AClaimIsReadAsItWasWritten) {
  for (const bool whole : {true, false}) {
    auto claim = full_claim();
    if (!whole) claim.source = claim.kernels = {};
    const auto read = decode_claim(encode_claim(claim));
    ASSERT_TRUE(read);
    EXPECT_EQ(encode_claim(*read), encode_claim(claim));
    EXPECT_EQ(read->source, claim.source);
    EXPECT_EQ(read->kernels, claim.kernels);
  }
}

TEST(SignatureCodec, NothingElseIsAClaim) {
  const auto record = encode_claim(full_claim());
  auto without_kernels = full_claim();
  without_kernels.kernels.clear();
  const auto whole_too = encode_claim(without_kernels).size();
  for (std::size_t size = 0; size < record.size(); ++size)
    EXPECT_EQ(decode_claim(record.substr(0, size)).has_value(), size == whole_too) << size;
  EXPECT_FALSE(decode_claim(record + '\0'));
  for (const auto hash : {&Claim::request, &Claim::dependencies, &Claim::source, &Claim::headers,
                          &Claim::artifact, &Claim::kernels}) {
    auto claim = full_claim();
    (claim.*hash).pop_back();
    EXPECT_FALSE(decode_claim(encode_claim(claim)));
  }
}

// What is signed must never change its spelling: a signature would be of nobody's.
TEST(SignatureCodec, TheSpellingOfAClaimStays) {
  EXPECT_EQ(digest_of(encode_claim(full_claim())).hex(), "1992a12cd50ef9622ef410cfbbd511a5");
}

TEST(SignatureCodec, ASignatureHas64Bytes) {
  const Signature signature{encode_claim(full_claim()), std::string(64, 'x')};
  const auto read = decode_signature(encode_signature(signature));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->claim, signature.claim);
  EXPECT_EQ(read->bytes, signature.bytes);
  for (const std::size_t size : {0, 63, 65})
    EXPECT_FALSE(decode_signature(encode_signature({signature.claim, std::string(size, 'x')})));
}

TEST(SignatureCodec, TellsWhoSaysThatHeSigned) {
  const Signature signature{encode_claim(full_claim()), std::string(64, 'x')};
  EXPECT_EQ(signers_in({encode_signature(signature), "no record"}),
            std::vector{full_claim().signer});
}

}  // namespace
}  // namespace kiln::storage
