#include "record/frame.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "forge.h"
#include "support.h"

namespace kiln::storage {
namespace {

using test::zstd;

const FrameOwner owner{FrameOwner::Table::entries, digest_of("key"), digest_of("request")};

std::string encode(std::string_view raw) { return FrameEncoder().encode(raw, owner); }

// Both ways, which must agree.
std::optional<std::string> decode(std::string_view frame, const FrameOwner& of = owner) {
  const auto decoded = FrameDecoder().decode(frame, of);
  const auto record = FrameDecoder().decode_image(ImageBuffer::copy_of(frame, 0), 0, of);
  EXPECT_EQ(record ? std::optional(std::string(record->view())) : std::nullopt, decoded);
  return decoded;
}

std::string compressible() { return std::string(5000, 'k') + test::random_bytes(100, 1); }

std::string forge(std::string_view magic, int version, int codec, std::uint64_t raw_size,
                  std::uint64_t stored_size, std::string_view stored) {
  return test::forge({.magic = magic,
                      .version = version,
                      .codec = codec,
                      .raw_size = raw_size,
                      .stored_size = stored_size},
                     owner, stored);
}

TEST(Frame, GoesBothWays) {
  for (const std::string& raw : {std::string(), std::string("x"), compressible(),
                                 test::random_bytes(3000, 2), std::string(1 << 20, '\0')}) {
    EXPECT_EQ(decode(encode(raw)), raw);
  }
}

TEST(Frame, CompressesOnlyWhatGetsSmaller) {
  EXPECT_LT(encode(compressible()).size(), 400u);
  EXPECT_EQ(encode(test::random_bytes(3000, 2)).size(), 3000u + 38);
}

TEST(Frame, MayBePlain) {
  const auto frame = FrameEncoder::encode_plain(compressible(), owner);
  EXPECT_EQ(frame,
            forge("kilF", 1, 0, compressible().size(), compressible().size(), compressible()));
  EXPECT_EQ(decode(frame), compressible());
}

TEST(Frame, IsAsDocumented) {
  EXPECT_EQ(encode("abc"), forge("kilF", 1, 0, 3, 3, "abc"));
  const std::string stored = zstd(compressible());
  EXPECT_EQ(decode(forge("kilF", 1, 1, compressible().size(), stored.size(), stored)),
            compressible());
}

TEST(Frame, EveryFlippedBitIsNoticed) {
  for (const std::string& raw : {compressible(), std::string("plain")}) {
    const std::string frame = encode(raw);
    for (std::size_t bit = 0; bit < 8 * frame.size(); ++bit) {
      std::string flipped = frame;
      flipped[bit / 8] ^= static_cast<char>(1 << bit % 8);
      EXPECT_FALSE(decode(flipped)) << "bit " << bit;
    }
  }
}

TEST(Frame, EveryTruncationAndExtensionIsNoticed) {
  const std::string frame = encode(compressible());
  for (std::size_t size = 0; size < frame.size(); ++size) {
    EXPECT_FALSE(decode(std::string_view(frame).substr(0, size))) << size;
  }
  EXPECT_FALSE(decode(frame + '\0'));
}

TEST(Frame, ServesNoOtherOwner) {
  const std::string frame = encode(compressible());
  EXPECT_FALSE(decode(frame, {FrameOwner::Table::texts, owner.first, owner.second}));
  EXPECT_FALSE(decode(frame, {owner.table, digest_of("another"), owner.second}));
  EXPECT_FALSE(decode(frame, {owner.table, owner.first, digest_of("another")}));
  EXPECT_FALSE(decode(frame, {owner.table, owner.second, owner.first}));
}

// Whoever can write a right checksum can say anything: sizes are believed only where they agree.
TEST(Frame, FalseWordsUnderARightChecksumAreRefused) {
  const std::string raw = compressible();
  const std::string stored = zstd(raw);
  const auto refused = [&](std::string_view magic, int version, int codec, std::uint64_t raw_size,
                           std::uint64_t stored_size, std::string_view bytes) {
    return !decode(forge(magic, version, codec, raw_size, stored_size, bytes));
  };
  EXPECT_TRUE(refused("nliK", 1, 1, raw.size(), stored.size(), stored)) << "magic";
  EXPECT_TRUE(refused("kilF", 2, 1, raw.size(), stored.size(), stored)) << "version";
  EXPECT_TRUE(refused("kilF", 1, 7, raw.size(), stored.size(), stored)) << "codec";
  EXPECT_TRUE(refused("kilF", 1, 1, raw.size() + 1, stored.size(), stored)) << "raw size";
  EXPECT_TRUE(refused("kilF", 1, 1, raw.size() - 1, stored.size(), stored)) << "raw size";
  EXPECT_TRUE(refused("kilF", 1, 1, raw.size(), stored.size() + 1, stored)) << "stored size";
  EXPECT_TRUE(refused("kilF", 1, 1, UINT64_MAX, stored.size(), stored)) << "huge";
  EXPECT_TRUE(refused("kilF", 1, 1, max_raw_bytes + 1, stored.size(), stored)) << "over the limit";
  EXPECT_TRUE(refused("kilF", 1, 0, 4, 3, "abc")) << "plain of another size";
  EXPECT_TRUE(refused("kilF", 1, 1, 3, 3, "abc")) << "no zstd frame";
  EXPECT_TRUE(refused("kilF", 1, 1, 0, 0, "")) << "nothing";
  const std::string sizeless = zstd(raw, false);
  EXPECT_TRUE(refused("kilF", 1, 1, raw.size(), sizeless.size(), sizeless)) << "no content size";
  const std::string twice = stored + stored;
  EXPECT_TRUE(refused("kilF", 1, 1, raw.size(), twice.size(), twice)) << "a second zstd frame";
}

TEST(Frame, AnyBytesMayBeGiven) {
  FrameDecoder decoder;
  for (unsigned seed = 0; seed < 5000; ++seed) {
    EXPECT_FALSE(decoder.decode(test::random_bytes(seed % 200, seed), owner));
  }
}

TEST(Frame, TellsItsSizeWithoutItsContent) {
  const std::string raw = compressible();
  const std::string frame = encode(raw);
  EXPECT_EQ(FrameDecoder::sound_size(frame, owner), raw.size());
  EXPECT_FALSE(FrameDecoder::sound_size(frame, {FrameOwner::Table::texts, owner.first}));
  for (std::size_t at = 0; at < frame.size(); ++at) {
    std::string damaged = frame;
    damaged[at] ^= 1;
    EXPECT_FALSE(FrameDecoder::sound_size(damaged, owner)) << at;
    EXPECT_FALSE(FrameDecoder::sound_size(frame.substr(0, at), owner)) << at;
  }
}

}  // namespace
}  // namespace kiln::storage
