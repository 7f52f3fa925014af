#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kiln::remote {

/// What the holder of a lease writes where the others look, again and again: "token state count". Who sees it change knows that
/// the holder lives.
struct LeaseBeat {
  enum class State { held, failed, done };

  std::string token = {};  ///< Empty in what is no beat.
  State state = State::held;
  std::uint64_t count = 0;  ///< Another one each time.

  [[nodiscard]] bool is_held_by(std::string_view holder) const {
    return token == holder && state == State::held;
  }
};

/// A longer one is none of kiln's.
constexpr std::size_t most_beat_bytes = 256;

[[nodiscard]] std::string encode_beat(const LeaseBeat& beat);

/// Of any bytes: others may have written there what they like. What is no beat is held by nobody that could be named.
[[nodiscard]] LeaseBeat decode_beat(std::string_view text);

}  // namespace kiln::remote
