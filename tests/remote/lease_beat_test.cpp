#include "remote/lease_beat.h"

#include <string>

#include <gtest/gtest.h>

namespace kiln::remote {
namespace {

using State = LeaseBeat::State;

const std::string token = "0123456789abcdef0123456789abcdef";

TEST(LeaseBeatTest, IsReadAsItWasWritten) {
  for (const auto state : {State::held, State::failed, State::done}) {
    const auto read = decode_beat(encode_beat({token, state, 77}));
    EXPECT_EQ(read.token, token);
    EXPECT_EQ(read.state, state);
    EXPECT_EQ(read.count, 77U);
  }
  EXPECT_EQ(encode_beat({.token = token}), token + " held 0\n");
}

// An older kiln wrote none into a folder.
TEST(LeaseBeatTest, NeedsNoEndOfALine) {
  const auto read = decode_beat(token + " failed 12");
  EXPECT_EQ(read.token, token);
  EXPECT_EQ(read.state, State::failed);
  EXPECT_EQ(read.count, 12U);
}

TEST(LeaseBeatTest, OfAnythingElseNamesNobody) {
  for (const auto& text :
       {std::string(), std::string(" "), token.substr(1) + " held 1", token + "0 held 1",
        std::string(32, 'g') + " done 1", token, token + " ", token + "  held 1", token + " gone 1",
        token + "/../.. held 1", std::string(256, '\xff'), std::string(256, '\0')}) {
    const auto read = decode_beat(text);
    EXPECT_EQ(read.token, "") << text;
    EXPECT_EQ(read.state, State::held) << text;
  }
}

// It need only differ from the one before.
TEST(LeaseBeatTest, MayHaveAnyNumber) {
  EXPECT_EQ(decode_beat(token + " held 184467440737095516150").token, token);
  EXPECT_EQ(decode_beat(token + " held -1\r\n").count, 1U);
}

TEST(LeaseBeatTest, IsHeldByItsTokenAlone) {
  EXPECT_TRUE((LeaseBeat{token}.is_held_by(token)));
  EXPECT_FALSE((LeaseBeat{token}.is_held_by(token.substr(1) + "0")));
  EXPECT_FALSE((LeaseBeat{token, State::failed}.is_held_by(token)));
  EXPECT_FALSE(decode_beat("nonsense").is_held_by(token));
}

}  // namespace
}  // namespace kiln::remote
