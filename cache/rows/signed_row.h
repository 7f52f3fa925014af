#pragma once

#include <cstdint>
#include <optional>

#include "file/sqlite.h"
#include "kiln/digest.h"
#include "kiln/signing.h"
#include "rows/entry_reader.h"

namespace kiln::storage {

/// Copies the row of this id and key, with what is told of its kernels and the signatures of these keys. Of a row for which
/// none of the keys made one, or which is larger than they say, nothing but id and key is read, and it has no Proof: so
/// whoever wrote it decides over no more memory than was signed. Without a key where there is no such row.
/// Nothing where SQLite could not read; the connection knows why.
[[nodiscard]] std::optional<RawEntry> read_signed_row(Connection& connection, std::int64_t id,
                                                      const Digest& key, const TrustedKeys& keys);

}  // namespace kiln::storage
