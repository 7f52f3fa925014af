#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "record/frame.h"

namespace kiln::test {

/// What a forged frame says of itself.
struct FrameWords {
  std::string_view magic = "kilF";
  int version = 1;
  int codec = 0;
  std::uint64_t raw_size = 0;
  std::uint64_t stored_size = 0;
};

/// A frame with a right checksum around whatever it says, written from the documented grammar alone.
[[nodiscard]] std::string forge(const FrameWords& words, const storage::FrameOwner& owner,
                                std::string_view stored);

/// One zstd frame of these bytes, which tells its content size or does not.
[[nodiscard]] std::string zstd(std::string_view raw, bool with_size = true);

/// One zstd frame of `prefix`, `count` times `unit`, and `suffix`, without ever holding them whole.
[[nodiscard]] std::string zstd_bomb(std::string_view prefix, std::string_view unit,
                                    std::size_t count, std::string_view suffix);

}  // namespace kiln::test
