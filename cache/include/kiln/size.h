#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kiln {

/// A size in bytes as people write it: "4096", "500M", "1.5G", "5GiB", "64 KB". The letters mean
/// powers of 1024, with or without "iB" or "B", in either case. Nothing for anything else, and for more
/// than 2^63 bytes.
[[nodiscard]] std::optional<std::uint64_t> parse_bytes(std::string_view text) noexcept;

}  // namespace kiln
