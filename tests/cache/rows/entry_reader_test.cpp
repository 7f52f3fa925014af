#include "rows/entry_reader.h"

#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace kiln::storage {
namespace {

TEST(MatchMaterial, TellsAnotherRequestOfTheSameDigestFromADamagedOne) {
  EXPECT_EQ(match_material("asked", "asked", digest_of("asked")), MaterialMatch::same);
  EXPECT_EQ(match_material("damaged", "asked", digest_of("asked")), MaterialMatch::damaged);
  // Stands for a collision: the stored material has the digest that was looked for.
  EXPECT_EQ(match_material("other", "asked", digest_of("other")), MaterialMatch::another);
}

/// Reads when the thread's older variables end: its context is gone by then.
struct ReadsAtEnd {
  const std::string* frame = nullptr;
  std::optional<std::string>* read = nullptr;
  ~ReadsAtEnd() { *read = decode_frame(*frame, text_owner({})); }
};

TEST(DecodeFrame, WorksWhileAThreadEnds) {
  const std::string text(100'000, 't');
  const auto frame = FrameEncoder().encode(text, text_owner({}));
  std::optional<std::string> read;
  std::thread([&] {
    thread_local ReadsAtEnd at_end;
    at_end.frame = &frame;
    at_end.read = &read;
    EXPECT_EQ(decode_frame(frame, text_owner({})), text);
  }).join();
  EXPECT_EQ(read, text);
}

}  // namespace
}  // namespace kiln::storage
