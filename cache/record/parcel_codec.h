#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/digest.h"
#include "kiln/request.h"

namespace kiln::storage {

// What lies in a store that machines share (kiln/exchange.h). Objects are named by the hash of their bytes: BLAKE2b of 32
// bytes, as they are in records.

/// Of one entry, as many as a cache keeps: to look at each takes time.
inline constexpr std::size_t most_signatures = 16;

/// One entry as it travels, its frames as its cache has them. Without texts: entries share these, so each is an object of its
/// own, and is the frame of its row.
struct Parcel {
  Digest key;
  std::string material;  ///< The request's record.
  Toolchain toolchain;
  std::string dependencies_frame;  ///< Empty for an entry without dependencies.
  std::string payload;
  std::string kernels_frame;  ///< Empty where nobody has read the image.
  std::vector<std::string> signatures;
  std::string
      text_list;  ///< The name of the object that lists its texts; empty where none came along.
};

/// A text, and the object that its frame is.
struct ListedText {
  Digest digest;
  std::string object;
};

/// What an entry needs to serve somewhere: its compiler, and the headers that it was made of.
struct ParcelNeeds {
  Toolchain toolchain;
  std::string dependencies_frame;  ///< As a parcel has it.
};

/// What a store knows of a parcel by the request that it answers: enough to leave it alone.
struct ParcelHint {
  Digest key;
  std::string object;
  std::vector<std::string> signatures = {};
  std::optional<ParcelNeeds> needs = {};  ///< Nothing where they are too many.
  std::uint64_t compile_us = 0;           ///< What its compile took; 0 where nobody knows.
};

/// A hint is no longer.
inline constexpr std::size_t most_hint_bytes = std::size_t{64} << 10;
/// So long may the frame in it be, beside the signatures.
inline constexpr std::size_t most_hinted_frame_bytes = std::size_t{48} << 10;

[[nodiscard]] std::string encode_parcel(const Parcel& parcel);
[[nodiscard]] std::string encode_text_list(const std::vector<ListedText>& texts);
[[nodiscard]] std::string encode_hint(const ParcelHint& hint);

// The inverses; nothing for anything else.
[[nodiscard]] std::optional<Parcel> decode_parcel(std::string_view record);
[[nodiscard]] std::optional<std::vector<ListedText>> decode_text_list(std::string_view record);
[[nodiscard]] std::optional<ParcelHint> decode_hint(std::string_view record);

}  // namespace kiln::storage
