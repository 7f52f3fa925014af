#include "remote/lease_beat.h"

#include <string>

#include <gtest/gtest.h>

namespace kiln::remote {
namespace {

using BeatState = LeaseBeat::State;

const std::string beat_token = "0123456789abcdef0123456789abcdef";

TEST(LeaseBeatTest, IsReadAsItWasWritten) {
  for (const auto state : {BeatState::held, BeatState::failed, BeatState::done}) {
    const auto read = decode_beat(encode_beat({beat_token, state, 77}));
    EXPECT_EQ(read.token, beat_token);
    EXPECT_EQ(read.state, state);
    EXPECT_EQ(read.count, 77U);
  }
  EXPECT_EQ(encode_beat({.token = beat_token}), beat_token + " held 0\n");
}

// An older kiln wrote none into a folder.
TEST(LeaseBeatTest, NeedsNoEndOfALine) {
  const auto read = decode_beat(beat_token + " failed 12");
  EXPECT_EQ(read.token, beat_token);
  EXPECT_EQ(read.state, BeatState::failed);
  EXPECT_EQ(read.count, 12U);
}

TEST(LeaseBeatTest, OfAnythingElseNamesNobody) {
  for (const auto& text :
       {std::string(), std::string(" "), beat_token.substr(1) + " held 1", beat_token + "0 held 1",
        std::string(32, 'g') + " done 1", beat_token, beat_token + " ", beat_token + "  held 1",
        beat_token + " gone 1", beat_token + "/../.. held 1", std::string(256, '\xff'),
        std::string(256, '\0')}) {
    const auto read = decode_beat(text);
    EXPECT_EQ(read.token, "") << text;
    EXPECT_EQ(read.state, BeatState::held) << text;
  }
}

// It need only differ from the one before.
TEST(LeaseBeatTest, MayHaveAnyNumber) {
  EXPECT_EQ(decode_beat(beat_token + " held 184467440737095516150").token, beat_token);
  EXPECT_EQ(decode_beat(beat_token + " held -1\r\n").count, 1U);
}

TEST(LeaseBeatTest, IsHeldByItsTokenAlone) {
  EXPECT_TRUE((LeaseBeat{beat_token}.is_held_by(beat_token)));
  EXPECT_FALSE((LeaseBeat{beat_token}.is_held_by(beat_token.substr(1) + "0")));
  EXPECT_FALSE((LeaseBeat{beat_token, BeatState::failed}.is_held_by(beat_token)));
  EXPECT_FALSE(decode_beat("nonsense").is_held_by(beat_token));
}

}  // namespace
}  // namespace kiln::remote
