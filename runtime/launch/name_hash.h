#pragma once

#include <cstddef>
#include <string_view>

// Inline, since a call of the library's costs as much as the hash of a name.
#define XXH_INLINE_ALL
#include <xxhash.h>
#undef XXH_INLINE_ALL

namespace kiln {

/// A hash of a name, for tables that live no longer than the process.
[[nodiscard]] inline std::size_t name_hash(std::string_view name) noexcept {
  return XXH3_64bits(name.data(), name.size());
}

}  // namespace kiln
