#include "record/parcel_codec.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kiln::storage {
namespace {

Parcel full_parcel() {
  return {.key = digest_of("a key"),
          .material = "a request",
          .toolchain = {digest_of("a compiler"), "NVRTC 13.0"},
          .dependencies_frame = "dependencies",
          .payload = "payload",
          .kernels_frame = "kernels",
          .signatures = {"one", "another"},
          .text_list = std::string(32, 't')};
}

TEST(ParcelCodec, AParcelIsReadAsItWasWritten) {
  for (const bool whole : {true, false}) {
    auto parcel = full_parcel();
    if (!whole) {
      parcel.dependencies_frame = parcel.kernels_frame = parcel.text_list = {};
      parcel.signatures.clear();
    }
    const auto read = decode_parcel(encode_parcel(parcel));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->key, parcel.key);
    EXPECT_EQ(read->material, parcel.material);
    EXPECT_EQ(read->toolchain.identity, parcel.toolchain.identity);
    EXPECT_EQ(read->toolchain.text, parcel.toolchain.text);
    EXPECT_EQ(read->dependencies_frame, parcel.dependencies_frame);
    EXPECT_EQ(read->payload, parcel.payload);
    EXPECT_EQ(read->kernels_frame, parcel.kernels_frame);
    EXPECT_EQ(read->signatures, parcel.signatures);
    EXPECT_EQ(read->text_list, parcel.text_list);
  }
}

TEST(ParcelCodec, ListsAndHintsAreReadAsTheyWereWritten) {
  const std::vector<ListedText> texts{{digest_of("a"), std::string(32, 'a')},
                                      {digest_of("b"), std::string(32, 'b')}};
  const auto list = decode_text_list(encode_text_list(texts));
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 2);
  EXPECT_EQ((*list)[1].digest, texts[1].digest);
  EXPECT_EQ((*list)[1].object, texts[1].object);
  const auto hint = decode_hint(encode_hint({digest_of("k"), std::string(32, 'o'), {"signature"}}));
  ASSERT_TRUE(hint);
  EXPECT_EQ(hint->key, digest_of("k"));
  EXPECT_EQ(hint->object, std::string(32, 'o'));
  EXPECT_EQ(hint->signatures, std::vector<std::string>{"signature"});
}

TEST(ParcelCodec, NothingElseIsOne) {
  const auto parcel = encode_parcel(full_parcel());
  EXPECT_FALSE(decode_parcel(parcel + '\0'));
  EXPECT_FALSE(decode_text_list(parcel));
  EXPECT_FALSE(decode_hint(parcel));
  auto short_name = full_parcel();
  short_name.text_list.pop_back();
  EXPECT_FALSE(decode_parcel(encode_parcel(short_name)));
  EXPECT_FALSE(decode_text_list(encode_text_list({{digest_of("a"), "short"}})));
  EXPECT_FALSE(decode_hint(encode_hint({digest_of("k"), "short"})));
}

// Objects are named by their bytes: another spelling would be another object.
TEST(ParcelCodec, TheSpellingStays) {
  EXPECT_EQ(digest_of(encode_parcel(full_parcel())).hex(), "b8b2937e6dbba6e8673c62b0aa044949");
}

}  // namespace
}  // namespace kiln::storage
