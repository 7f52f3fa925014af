#pragma once

// kiln/size.h: sizes as people write them.
//
//     assert(kiln::parse_bytes("1.5G") == 1610612736);
//     assert(!kiln::parse_bytes("much"));

#include <cstdint>
#include <optional>
#include <string_view>

#include "kiln/export.h"

namespace KILN_EXPORT kiln {

/// A size as a person writes it, in bytes: "500M", "5GiB", "1.5 G", "4096". The units are powers of
/// 1024, whether written K, KB or KiB, up to T, in either case; without one it is bytes. A fraction
/// of a byte is dropped. Nothing for anything else, such as a negative or a too large one.
[[nodiscard]] std::optional<std::uint64_t> parse_bytes(std::string_view text) noexcept;

}  // namespace kiln
