// Input: how (u8), then a frame as it is; or version u8, codec u8, raw size u64 and the stored bytes of a
// frame that is given a right checksum, since none is found by chance; or bytes to go both ways.

#include "forge.h"
#include "fuzz.h"
#include "record/frame.h"

namespace {

using kiln::fuzz::Input;
using kiln::storage::FrameDecoder;
using kiln::storage::FrameEncoder;
using kiln::storage::FrameOwner;

const FrameOwner owner{FrameOwner::Table::entries, kiln::digest_of("key"),
                       kiln::digest_of("request")};

// A claim above this and within the limit is believed until zstd finds it false: memory, not a mistake.
constexpr std::uint64_t largest_claim = std::uint64_t{1} << 21;

void decode_forged(Input input) {
  kiln::test::FrameWords words;
  words.version = static_cast<int>(input.number(1));
  words.codec = static_cast<int>(input.number(1));
  words.raw_size = input.number(8);
  words.stored_size = input.rest().size();
  if (words.raw_size > largest_claim && words.raw_size <= kiln::storage::max_raw_bytes) return;
  const auto raw = FrameDecoder().decode(kiln::test::forge(words, owner, input.rest()), owner);
  if (raw) kiln::fuzz::require(raw->size() == words.raw_size, "a frame holds what it says");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(kiln::fuzz::view(data, size));
  const std::uint64_t how = input.number(1) % 3;
  if (how == 0) {
    const auto raw = FrameDecoder().decode(input.rest(), owner);
    if (raw)
      kiln::fuzz::require(raw->size() <= kiln::storage::max_raw_bytes, "raw size is bounded");
  } else if (how == 1) {
    decode_forged(input);
  } else {
    const auto raw = FrameDecoder().decode(FrameEncoder().encode(input.rest(), owner), owner);
    kiln::fuzz::require(raw && *raw == input.rest(), "a frame goes both ways");
  }
  return 0;
}
