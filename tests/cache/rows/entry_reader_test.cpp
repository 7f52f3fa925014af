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

/// Reads when the thread's older variables end: its decoder is gone by then.
struct ReadsAtEnd {
  const std::string* frame = nullptr;
  std::optional<std::string>* read = nullptr;
  ~ReadsAtEnd() { *read = thread_decoder().decode(*frame, text_owner({})); }
};

TEST(ThreadDecoder, IsThereWhileAThreadEnds) {
  const std::string text(100'000, 't');
  const auto frame = FrameEncoder().encode(text, text_owner({}));
  std::optional<std::string> read;
  std::thread([&] {
    thread_local ReadsAtEnd at_end;
    at_end.frame = &frame;
    at_end.read = &read;
    EXPECT_EQ(thread_decoder().decode(frame, text_owner({})), text);
  }).join();
  EXPECT_EQ(read, text);
}

}  // namespace
}  // namespace kiln::storage
