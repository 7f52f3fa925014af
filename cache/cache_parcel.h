#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kiln/exchange.h"
#include "record/parcel_codec.h"
#include "record/signature_codec.h"
#include "rows/entry_reader.h"

namespace kiln {

// Parcels, as who puts them into a store and who takes them out see them.

/// Of one entry, and of all its texts together: more than any compiler makes.
inline constexpr std::uint64_t most_object_bytes = std::uint64_t{256} << 20;
/// So many entries are taken for a request. They differ in their headers, or in their compiler.
inline constexpr std::size_t most_of_a_request = 16;

/// A hash as an object's name.
[[nodiscard]] std::string name_of(std::string_view hash);

/// As if it lay in a database, under numbers that nobody asks for.
[[nodiscard]] storage::RawEntry row_of(storage::Parcel parcel);

/// What a hint says, as far as anything of it may be believed.
struct TakenHint {
  storage::ParcelHint said;
  std::uint64_t most_bytes = most_object_bytes;  ///< Of the parcel.
  std::optional<storage::Claim> claim =
      {};  ///< Where keys are trusted, what one of them has signed.
};
/// Nothing for one that nobody has signed who is trusted, where keys are. Errors: cache_unusable, for one that is damaged or
/// cannot be read.
[[nodiscard]] Result<std::optional<TakenHint>> take_hint(const StoreHint& hint,
                                                         const TrustedKeys& keys);

}  // namespace kiln
